//! Responses that their callers don't read.

use std::net::SocketAddr;

use dripfeed_intake::IntakeSettings;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpSocket;

use super::{Connection, Server, last, refused};
use crate::harness::{Harness, PATIENCE, intake_settings};

/// A connection from this address with little room for what isn't read.
async fn connect(server: &Server, from: &str) -> Connection {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.bind(SocketAddr::new(from.parse().unwrap(), 0)).unwrap();
    Connection { tcp: socket.connect(server.address).await.unwrap() }
}

/// Sends a request, and reads the beginning of the response.
async fn begin(server: &Server, from: &str, request: &str) -> (Connection, String) {
    let mut connection = connect(server, from).await;
    connection.send(request).await;
    let mut beginning = [0; 100];
    let read = connection.tcp.read_exact(&mut beginning);
    tokio::time::timeout(PATIENCE, read).await.expect("a response comes").unwrap();
    (connection, String::from_utf8_lossy(&beginning).into_owned())
}

fn status(response: &str) -> &str {
    response.split(' ').nth(1).unwrap_or_default()
}

#[tokio::test]
async fn unread_responses_use_bounded_memory() {
    let harness = Harness::start().await;
    let settings = IntakeSettings { max_body: 2 << 20, max_bodies: 4 << 20, ..intake_settings() };
    let server = Server::start(&harness, settings).await;
    let room = server.ask(last("PATCH /v1/buckets/b", "", r#"{"capacity_bytes":"4MiB"}"#)).await;
    assert_eq!(status(&room), "200");
    // In JSON it is six times as long: more than the kernel keeps of what isn't read.
    let receipt = server.ask(last("POST /v1/buckets/b/jobs", "", &"\u{1}".repeat(2_000_000))).await;
    let job = receipt.lines().find_map(|line| line.strip_prefix("location: ")).expect("a receipt").to_owned();
    let large = format!("GET {job}?payload=true HTTP/1.1\r\nHost: intake\r\nConnection: close\r\n\r\n");

    let (mut unread, beginning) = begin(&server, "127.0.0.1", &large).await;
    assert_eq!(status(&beginning), "200");
    let response = server.ask(&large).await;
    assert_eq!(status(&response), "503");
    refused(&response, 503, "overloaded");
    assert!(response.contains("retry-after: 1\r\n"), "{response}");
    // Others get theirs, and the caller what is small.
    let (_other, beginning) = begin(&server, "127.0.0.2", &large).await;
    assert_eq!(status(&beginning), "200");
    let small = server.ask(format!("GET {job} HTTP/1.1\r\nHost: intake\r\nConnection: close\r\n\r\n")).await;
    assert_eq!(status(&small), "200");

    unread.rest().await;
    let freed = async { while status(&server.ask(&large).await) != "200" {} };
    tokio::time::timeout(PATIENCE, freed).await.expect("the room is free again");
}

/// The answer to a batch names each option that isn't one.
#[tokio::test]
async fn unread_answers_to_batches_use_bounded_memory() {
    let harness = Harness::start().await;
    let settings = IntakeSettings { max_body: 2 << 20, max_bodies: 4 << 20, max_batch: 1000, ..intake_settings() };
    let server = Server::start(&harness, settings).await;
    let options = (0..60).map(|n| format!(r#""o{n}":1"#)).collect::<Vec<_>>().join(",");
    let item = format!(r#"{{"body":1,"options":{{{options}}}}}"#);
    let batch = |items: &str| last("POST /v1/buckets/b/jobs/batch", "Content-Type: application/json\r\n", items);
    let large = batch(&format!("[{}]", vec![item; 1000].join(",")));

    let (mut unread, beginning) = begin(&server, "127.0.0.1", &large).await;
    assert_eq!(status(&beginning), "422");
    let response = server.ask(&large).await;
    assert_eq!(status(&response), "503");
    refused(&response, 503, "overloaded");
    assert_eq!(status(&server.ask(batch(r#"[{"body":1}]"#)).await), "202", "a small answer doesn't count");

    unread.rest().await;
    let freed = async { while status(&server.ask(&large).await) != "422" {} };
    tokio::time::timeout(PATIENCE, freed).await.expect("the room is free again");
}
