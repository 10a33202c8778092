/// Connections: limits, timeouts, shutdown.
mod connections;
/// Request smuggling: ambiguous framing.
mod framing;
/// Many idle and slow connections.
mod idle_connections;
/// TLS, with generated certificates.
mod tls;
/// Responses that their callers don't read.
mod unread;

use std::io;
use std::net::SocketAddr;

use dripfeed_http::{Listener, Tls};
use dripfeed_intake::IntakeSettings;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::harness::{Harness, PATIENCE};

/// An intake that listens.
pub struct Server {
    pub address: SocketAddr,
    pub stop: CancellationToken,
    serving: JoinHandle<io::Result<()>>,
}

impl Server {
    pub async fn start(harness: &Harness, settings: IntakeSettings) -> Self {
        Self::start_with(harness, settings, None).await
    }

    pub async fn start_with(harness: &Harness, settings: IntakeSettings, tls: Option<Tls>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let (intake, _) = harness.intake(settings).await;
        let serving = tokio::spawn({
            let stop = stop.clone();
            async move { intake.serve(Listener::new(listener, tls), stop).await }
        });
        Self { address, stop, serving }
    }

    pub async fn connect(&self) -> Connection {
        Connection { tcp: TcpStream::connect(self.address).await.unwrap() }
    }

    /// The response to one request, sent byte for byte on a separate connection with `Connection: close`.
    pub async fn ask(&self, request: impl AsRef<[u8]>) -> String {
        let mut connection = self.connect().await;
        connection.send(request).await;
        connection.rest().await
    }

    pub async fn ended(self) {
        tokio::time::timeout(PATIENCE, self.serving).await.expect("serve returns").unwrap().unwrap();
    }
}

pub struct Connection {
    pub tcp: TcpStream,
}

impl Connection {
    pub async fn send(&mut self, text: impl AsRef<[u8]>) {
        self.tcp.write_all(text.as_ref()).await.unwrap();
    }

    /// Status line, header fields and body of the next response.
    pub async fn answer(&mut self) -> String {
        let read = async {
            let mut text = Vec::new();
            loop {
                let shown = String::from_utf8_lossy(&text).into_owned();
                if let Some((head, body)) = shown.split_once("\r\n\r\n") {
                    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
                    if body.len() >= length.map_or(0, |length| length.parse().unwrap()) {
                        return shown;
                    }
                }
                text.push(self.tcp.read_u8().await.unwrap_or_else(|error| panic!("{error} after {shown:?}")));
            }
        };
        tokio::time::timeout(PATIENCE, read).await.expect("an answer comes")
    }

    /// All bytes until the server closes.
    pub async fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        let read = tokio::time::timeout(PATIENCE, self.tcp.read_to_end(&mut rest)).await;
        // A reset ends the connection too: unread data was discarded.
        let _ = read.expect("the connection is closed");
        String::from_utf8_lossy(&rest).into_owned()
    }
}

/// The head of a submission.
pub fn head(fields: &str) -> String {
    format!("POST /v1/buckets/b/jobs HTTP/1.1\r\nHost: intake\r\n{fields}\r\n")
}

/// A complete request with `Connection: close`.
pub fn last(line: &str, fields: &str, body: &str) -> String {
    format!(
        "{line} HTTP/1.1\r\nHost: intake\r\nConnection: close\r\nContent-Length: {}\r\n{fields}\r\n{body}",
        body.len()
    )
}

/// Asserts that the response is this refusal.
#[track_caller]
pub fn refused(answer: &str, status: u16, code: &str) {
    assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
    assert!(answer.contains(&format!("\"code\":\"{code}\"")), "{answer}");
}
