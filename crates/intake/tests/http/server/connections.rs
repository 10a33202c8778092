use std::time::{Duration, Instant};

use dripfeed_intake::IntakeSettings;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpSocket, TcpStream};

use crate::harness::{Harness, PATIENCE, delivered, intake_settings};
use crate::server::{Connection, Server, head, last};

const SHORT: Duration = Duration::from_millis(300);

#[tokio::test]
async fn a_connection_serves_many_requests() {
    let harness = Harness::start().await;
    let server = Server::start(&harness, intake_settings()).await;
    let mut connection = server.connect().await;
    for _ in 0..3 {
        connection.send(&format!("{}x", head("Content-Length: 1\r\n"))).await;
        assert!(connection.answer().await.starts_with("HTTP/1.1 202 Accepted\r\n"));
    }
    connection.send(&format!("{}1\r\nx\r\n0\r\n\r\n", head("Transfer-Encoding: chunked\r\n"))).await;
    assert!(connection.answer().await.starts_with("HTTP/1.1 202 Accepted\r\n"));
    assert_eq!(harness.length("b").await, 4);
}

#[tokio::test]
async fn a_head_that_times_out_closes_the_connection() {
    let harness = Harness::start().await;
    let server = Server::start(&harness, IntakeSettings { head_timeout: SHORT, ..intake_settings() }).await;
    let begun = Instant::now();
    let (mut silent, mut dripping) = (server.connect().await, server.connect().await);
    let drip = async {
        for byte in head("").bytes().cycle() {
            if dripping.tcp.write_u8(byte).await.is_err() {
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
async fn a_body_that_times_out_is_refused() {
    let harness = Harness::start().await;
    let server = Server::start(&harness, IntakeSettings { body_timeout: SHORT, ..intake_settings() }).await;
    let mut connection = server.connect().await;
    connection.send(&format!("{}x", head("Content-Length: 2\r\n"))).await;
    let answer = connection.rest().await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains("\"body_timeout\""), "{answer}");
    assert_eq!(harness.length("b").await, 0);
}

#[tokio::test]
async fn a_declared_length_over_the_limit_is_refused_before_the_body() {
    let harness = Harness::start().await;
    let server = Server::start(&harness, intake_settings()).await;
    for fields in ["Content-Length: 1000000000\r\n", "Content-Length: 1000000000\r\nExpect: 100-continue\r\n"] {
        let mut connection = server.connect().await;
        connection.send(&head(fields)).await;
        let answer = connection.rest().await;
        assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    }
}

#[tokio::test]
async fn one_address_leaves_connections_to_others() {
    let harness = Harness::start().await;
    let server = Server::start(&harness, IntakeSettings { max_connections_per_address: 2, ..intake_settings() }).await;
    let mut kept = [server.connect().await, server.connect().await];
    let live = "GET /livez HTTP/1.1\r\nHost: intake\r\n\r\n";
    for connection in &mut kept {
        connection.send(live).await;
        assert!(connection.answer().await.starts_with("HTTP/1.1 200 "));
    }
    assert_eq!(server.connect().await.rest().await, "", "it is closed");
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
    let mut other = Connection { tcp: socket.connect(server.address).await.unwrap() };
    other.send(live).await;
    assert!(other.answer().await.starts_with("HTTP/1.1 200 "));
    drop(kept);
    let freed = async {
        loop {
            let mut again = server.connect().await;
            // Refused while those that were dropped are being closed.
            if again.tcp.write_all(last("GET /livez", "", "").as_bytes()).await.is_ok()
                && again.rest().await.starts_with("HTTP/1.1 200 ")
            {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, freed).await.expect("the address has connections again");
}

#[tokio::test]
async fn an_oversized_head_is_refused() {
    let harness = Harness::start().await;
    let server = Server::start(&harness, intake_settings()).await;
    let mut connection = server.connect().await;
    connection.send(&head(&format!("x: {}\r\n", "y".repeat(40_000)))).await;
    let answer = connection.rest().await;
    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
    assert!(answer.contains("\"headers_too_large\""), "{answer}");
}

fn with_fields(count: usize) -> String {
    let others = head("").matches("\r\n").count() - 2;
    head(&(others..count).map(|n| format!("x-{n}: y\r\n")).collect::<String>())
}

#[tokio::test]
async fn a_head_may_have_a_hundred_fields() {
    let harness = Harness::start().await;
    let server = Server::start(&harness, intake_settings()).await;
    let mut connection = server.connect().await;
    connection.send(&with_fields(100)).await;
    assert!(connection.answer().await.starts_with("HTTP/1.1 202 "));
}

#[tokio::test]
async fn what_the_parser_refuses_has_no_body_and_ends_the_connection() {
    let harness = Harness::start().await;
    let server = Server::start(&harness, intake_settings()).await;
    for (request, status) in [
        ("BAD\r\n\r\n".to_owned(), "400"),
        (format!("GET /{} HTTP/1.1\r\nHost: intake\r\n\r\n", "a".repeat(64 << 10)), "414"),
        (with_fields(101), "431"),
        (head(&format!("x: {}\r\n", "y".repeat(128 << 10))), "400"),
    ] {
        let mut connection = server.connect().await;
        connection.send(&request).await;
        let answer = connection.rest().await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
        assert!(answer.contains("connection: close\r\n") && answer.ends_with("\r\n\r\n"), "{answer}");
    }
}

#[tokio::test]
async fn connections_beyond_the_limit_wait_in_the_backlog() {
    let harness = Harness::start().await;
    let server = Server::start(&harness, IntakeSettings { max_connections: 1, ..intake_settings() }).await;
    let mut first = server.connect().await;
    first.send("GET /livez HTTP/1.1\r\nHost: intake\r\n\r\n").await;
    first.answer().await;
    let mut second = server.connect().await;
    second.send("GET /livez HTTP/1.1\r\nHost: intake\r\n\r\n").await;
    let waits = tokio::time::timeout(Duration::from_millis(100), second.tcp.peek(&mut [0])).await;
    assert!(waits.is_err(), "the second connection was served beside the first");
    drop(first);
    assert!(second.answer().await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn a_stop_finishes_running_requests_and_refuses_new_ones() {
    let harness = Harness::start().await;
    let server = Server::start(&harness, intake_settings()).await;
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
    assert_eq!(harness.settle(delivered(200, "text/plain", b"")).await.body, "xy");
}

#[tokio::test]
async fn a_stop_closes_idle_connections_and_then_requests_past_the_drain() {
    let harness = Harness::start().await;
    let idle = Server::start(&harness, intake_settings()).await;
    let mut connection = idle.connect().await;
    connection.send("GET /livez HTTP/1.1\r\nHost: intake\r\n\r\n").await;
    connection.answer().await;
    idle.stop.cancel();
    let begun = Instant::now();
    idle.ended().await;
    assert!(begun.elapsed() < PATIENCE / 2);

    let busy = Server::start(&harness, IntakeSettings { drain: SHORT, ..intake_settings() }).await;
    let mut connection = busy.connect().await;
    connection.send(&format!("{}x", head("Content-Length: 2\r\n"))).await;
    // The request has begun when the next connection is served: they are accepted in order.
    busy.connect().await.send("GET /livez HTTP/1.1\r\nHost: intake\r\n\r\n").await;
    busy.stop.cancel();
    busy.ended().await;
    assert_eq!(connection.rest().await, "");
    assert_eq!(harness.length("b").await, 0);
}
