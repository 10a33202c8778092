use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use dripfeed_intake::IntakeSettings;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::stage::{PATIENCE, Stage, delivered, intake_settings};

const SHORT: Duration = Duration::from_millis(300);

/// An intake that listens.
struct Server {
    address: SocketAddr,
    stop: CancellationToken,
    serving: JoinHandle<io::Result<()>>,
}

impl Server {
    async fn start(stage: &Stage, settings: IntakeSettings) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let (intake, _) = stage.intake(settings);
        let serving = tokio::spawn({
            let stop = stop.clone();
            async move { intake.serve(listener, stop).await }
        });
        Self { address, stop, serving }
    }

    async fn connect(&self) -> Connection {
        Connection(TcpStream::connect(self.address).await.unwrap())
    }

    async fn ended(self) {
        tokio::time::timeout(PATIENCE, self.serving).await.expect("serve returns").unwrap().unwrap();
    }
}

struct Connection(TcpStream);

impl Connection {
    async fn send(&mut self, text: &str) {
        self.0.write_all(text.as_bytes()).await.unwrap();
    }

    /// Status line, fields and body of the next answer.
    async fn answer(&mut self) -> String {
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
                text.push(self.0.read_u8().await.unwrap_or_else(|error| panic!("{error} after {shown:?}")));
            }
        };
        tokio::time::timeout(PATIENCE, read).await.expect("an answer comes")
    }

    /// All that comes until the other end closes.
    async fn rest(&mut self) -> String {
        let mut rest = Vec::new();
        let read = tokio::time::timeout(PATIENCE, self.0.read_to_end(&mut rest)).await;
        // A reset is an end too: what we sent wasn't read.
        let _ = read.expect("the connection is closed");
        String::from_utf8_lossy(&rest).into_owned()
    }
}

fn head(fields: &str) -> String {
    format!("POST /v1/buckets/b/jobs HTTP/1.1\r\nHost: intake\r\n{fields}\r\n")
}

#[tokio::test]
async fn a_connection_carries_many_requests() {
    let stage = Stage::set().await;
    let server = Server::start(&stage, intake_settings()).await;
    let mut connection = server.connect().await;
    for _ in 0..3 {
        connection.send(&format!("{}x", head("Content-Length: 1\r\n"))).await;
        assert!(connection.answer().await.starts_with("HTTP/1.1 202 Accepted\r\n"));
    }
    connection.send(&format!("{}1\r\nx\r\n0\r\n\r\n", head("Transfer-Encoding: chunked\r\n"))).await;
    assert!(connection.answer().await.starts_with("HTTP/1.1 202 Accepted\r\n"));
    assert_eq!(stage.length("b").await, 4);
}

#[tokio::test]
async fn a_head_that_does_not_come_closes_the_connection() {
    let stage = Stage::set().await;
    let server = Server::start(&stage, IntakeSettings { head_timeout: SHORT, ..intake_settings() }).await;
    let begun = Instant::now();
    let (mut silent, mut dripping) = (server.connect().await, server.connect().await);
    let drip = async {
        for byte in head("").bytes().cycle() {
            if dripping.0.write_u8(byte).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let drip = tokio::time::timeout(PATIENCE, drip);
    let (rest, dripped) = tokio::join!(silent.rest(), drip);
    assert_eq!(rest, "");
    dripped.expect("the dripping connection is closed");
    assert!(begun.elapsed() >= SHORT);
}

#[tokio::test]
async fn a_body_that_does_not_come_is_refused() {
    let stage = Stage::set().await;
    let server = Server::start(&stage, IntakeSettings { body_timeout: SHORT, ..intake_settings() }).await;
    let mut connection = server.connect().await;
    connection.send(&format!("{}x", head("Content-Length: 2\r\n"))).await;
    let answer = connection.rest().await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains("\"body_timeout\""), "{answer}");
    assert_eq!(stage.length("b").await, 0);
}

#[tokio::test]
async fn an_announced_excess_is_refused_before_it_is_sent() {
    let stage = Stage::set().await;
    let server = Server::start(&stage, intake_settings()).await;
    for fields in ["Content-Length: 1000000000\r\n", "Content-Length: 1000000000\r\nExpect: 100-continue\r\n"] {
        let mut connection = server.connect().await;
        connection.send(&head(fields)).await;
        let answer = connection.rest().await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    }
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let stage = Stage::set().await;
    let server = Server::start(&stage, intake_settings()).await;
    let many = |count: usize| (0..count).map(|n| format!("x-{n}: y\r\n")).collect::<String>();
    for fields in [many(150), format!("x: {}\r\n", "y".repeat(40_000))] {
        let mut connection = server.connect().await;
        connection.send(&head(&fields)).await;
        let answer = connection.rest().await;
        assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
        assert!(answer.contains("\"headers_too_large\""), "{answer}");
    }
    let mut connection = server.connect().await;
    connection.send(&head(&many(1000))).await;
    assert!(connection.rest().await.starts_with("HTTP/1.1 431 "));
}

#[tokio::test]
async fn a_broken_request_is_the_last_of_its_connection() {
    let stage = Stage::set().await;
    let server = Server::start(&stage, intake_settings()).await;
    let second = format!("{}z", head("Content-Length: 1\r\n"));
    for fields in [
        "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        "Content-Length: +1\r\n\r\nx",
        "Content-Length: -1\r\n\r\nx",
        "X: a\0b\r\n\r\n",
        "X: a\r\n folded\r\n\r\n",
        "X : a\r\n\r\n",
        "Transfer-Encoding: gzip\r\n\r\nx",
        "Transfer-Encoding: chunked\r\n\r\nnope\r\nx\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n-1\r\nx\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\n\r\n1\r\nxyz\r\n0\r\n\r\n",
    ] {
        let mut connection = server.connect().await;
        connection.send(&format!("POST /v1/buckets/b/jobs HTTP/1.1\r\nHost: intake\r\n{fields}{second}")).await;
        let answers = connection.rest().await;
        assert!(answers.starts_with("HTTP/1.1 400 "), "{fields:?}: {answers}");
        assert_eq!(answers.matches("HTTP/1.1").count(), 1, "{fields:?}: {answers}");
    }
    assert_eq!(stage.length("b").await, 0);
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_for_room() {
    let stage = Stage::set().await;
    let server = Server::start(&stage, IntakeSettings { max_connections: 1, ..intake_settings() }).await;
    let mut first = server.connect().await;
    first.send("GET /livez HTTP/1.1\r\nHost: intake\r\n\r\n").await;
    first.answer().await;
    let mut second = server.connect().await;
    second.send("GET /livez HTTP/1.1\r\nHost: intake\r\n\r\n").await;
    let waits = tokio::time::timeout(Duration::from_millis(100), second.0.peek(&mut [0])).await;
    assert!(waits.is_err(), "the second connection was served beside the first");
    drop(first);
    assert!(second.answer().await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn a_stop_lets_running_requests_end_and_takes_no_new_ones() {
    let stage = Stage::set().await;
    let server = Server::start(&stage, intake_settings()).await;
    let (mut running, mut kept) = (server.connect().await, server.connect().await);
    running.send(&format!("{}x", head("Content-Length: 2\r\n"))).await;
    kept.send("GET /readyz HTTP/1.1\r\nHost: intake\r\n\r\n").await;
    assert!(kept.answer().await.starts_with("HTTP/1.1 200 "));

    server.stop.cancel();
    let refused = async { while TcpStream::connect(server.address).await.is_ok() {} };
    tokio::time::timeout(PATIENCE, refused).await.expect("no new connection is taken");
    kept.send(&format!("{}z", head("Content-Length: 1\r\n"))).await;
    let answer = kept.rest().await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("\"draining\"") && answer.contains("retry-after: 1\r\n"), "{answer}");
    assert!(answer.contains("connection: close\r\n"), "{answer}");

    running.send("y").await;
    let answer = running.rest().await;
    assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
    server.ended().await;
    assert_eq!(stage.settle(delivered(200, "text/plain", b"")).await.body, "xy");
}

#[tokio::test]
async fn a_stop_closes_idle_connections_soon_and_cuts_what_runs_too_long() {
    let stage = Stage::set().await;
    let idle = Server::start(&stage, intake_settings()).await;
    let mut connection = idle.connect().await;
    connection.send("GET /livez HTTP/1.1\r\nHost: intake\r\n\r\n").await;
    connection.answer().await;
    idle.stop.cancel();
    let begun = Instant::now();
    idle.ended().await;
    assert!(begun.elapsed() < PATIENCE / 2);

    let busy = Server::start(&stage, IntakeSettings { drain: SHORT, ..intake_settings() }).await;
    let mut connection = busy.connect().await;
    connection.send(&format!("{}x", head("Content-Length: 2\r\n"))).await;
    // The request has begun when the next connection is served: they are accepted in order.
    busy.connect().await.send("GET /livez HTTP/1.1\r\nHost: intake\r\n\r\n").await;
    busy.stop.cancel();
    busy.ended().await;
    assert_eq!(connection.rest().await, "");
    assert_eq!(stage.length("b").await, 0);
}
