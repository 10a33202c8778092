//! Calls to upstreams that behave badly, each a real server on loopback.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

mod answers;
mod certificates;
mod connecting;
mod connections;
mod endless;
mod wishes;

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Method, Request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::*;
use crate::upstream::connector::Connector;
use crate::upstream::{Upstream, UpstreamSettings, tests::settings};

const BOUNDS: CallBounds = CallBounds { timeout: Duration::from_secs(5), read_bytes: 100_000, kept_bytes: 10 };
const EMPTY: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
const SOON: Duration = Duration::from_millis(200);

/// An upstream that treats each connection as `behave` does, and counts them.
struct Server {
    url: String,
    connections: Arc<AtomicUsize>,
    /// One permit for each connection that `behave` is done with.
    done: Arc<Semaphore>,
}

impl Server {
    async fn start<F, B>(behave: F) -> Self
    where
        F: Fn(TcpStream) -> B + Send + 'static,
        B: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let (connections, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let (counted, finished) = (Arc::clone(&connections), Arc::clone(&done));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let (one, finished) = (behave(stream), Arc::clone(&finished));
                tokio::spawn(async move {
                    one.await;
                    finished.add_permits(1);
                });
            }
        });
        Self { url, connections, done }
    }

    /// Answers the first request of each connection with `bytes`, then closes.
    async fn saying(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = Arc::new(bytes.into());
        Self::start(move |mut stream| {
            let bytes = Arc::clone(&bytes);
            async move {
                read_head(&mut stream).await;
                let _ = stream.write_all(&bytes).await;
            }
        })
        .await
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    async fn until_done(&self) {
        self.done.acquire().await.unwrap().forget();
    }
}

/// The head of a request, which is all of it in most of these tests; or what has come of it.
async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read_exact(&mut byte).await.is_err() {
            break;
        }
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

fn client(upstream: UpstreamSettings) -> Arc<HttpClient> {
    Connector::new().unwrap().client(&Upstream::new(upstream).unwrap())
}

async fn call_with(client: &HttpClient, url: &str, bounds: CallBounds) -> CallResult {
    let request = Request::post(url).body(Full::default()).unwrap();
    call(client, request, bounds).await.unwrap()
}

async fn call_at(url: &str, bounds: CallBounds) -> CallResult {
    call_with(&client(settings(url)), url, bounds).await
}

fn status(called: &CallResult) -> u16 {
    called.answer.status().unwrap_or_else(|| panic!("{called:?}"))
}

fn why(called: &CallResult) -> &str {
    match &called.answer {
        UpstreamAnswer::Nothing { why, .. } => why,
        UpstreamAnswer::Status { .. } => panic!("{called:?}"),
    }
}
