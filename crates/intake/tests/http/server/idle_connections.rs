use std::time::{Duration, Instant};

use dripfeed_intake::IntakeSettings;
use futures::future::join_all;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::harness::{Harness, PATIENCE, intake_settings, settings};
use crate::server::{Connection, Server, head, last, refused};

/// Both ends of each are open files of this process, which are often limited to 4096.
const CROWD: usize = 1000;
const SLOW: usize = 64;
const ASKED: usize = 400;

/// Sequentially: in parallel they would overflow the listener's queue.
async fn crowd(server: &Server, many: usize) -> Vec<Connection> {
    let mut crowd = Vec::with_capacity(many);
    for _ in 0..many {
        crowd.push(server.connect().await);
    }
    crowd
}

/// The duration of a submission.
async fn submit(connection: &mut Connection) -> Duration {
    let begun = Instant::now();
    connection.send(head("Content-Length: 1\r\n") + "x").await;
    let answer = connection.answer().await;
    assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
    begun.elapsed()
}

/// What nine of ten take at the most. Of the others some may have waited for a machine that stood still.
fn p90(mut took: Vec<Duration>) -> Duration {
    took.sort_unstable();
    took[took.len() * 9 / 10]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_and_slow_connections_delay_nobody() {
    let mut roomy = settings("b");
    roomy.capacity = 10_000;
    let harness = Harness::with(vec![roomy], Vec::new(), &[]).await;
    let limits = IntakeSettings { max_connections: 2 * CROWD, ..intake_settings() };
    let server = Server::start(&harness, limits).await;
    let alone = Server::start(&harness, intake_settings()).await;
    let (mut caller, mut caller_alone) = (server.connect().await, alone.connect().await);
    let silent = crowd(&server, CROWD).await;
    let mut slow = crowd(&server, SLOW).await;
    for (n, connection) in slow.iter_mut().enumerate() {
        // Half of them stop within the head, half within the body.
        let begun =
            if n % 2 == 0 { "POST /v1/buckets/b/jo".to_owned() } else { head("Content-Length: 1000\r\n") + "x" };
        connection.send(begun).await;
    }
    // In turns, so that whatever else the machine does happens to both.
    let (mut in_crowd, mut without) = (Vec::new(), Vec::new());
    for _ in 0..ASKED {
        in_crowd.push(submit(&mut caller).await);
        without.push(submit(&mut caller_alone).await);
    }
    let (in_crowd, without) = (p90(in_crowd), p90(without));
    // Below this it is the scheduler that is measured.
    let noise = Duration::from_millis(20);
    assert!(in_crowd < without * 2 + noise, "in the crowd {in_crowd:?}, without {without:?}");
    drop((silent, slow));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn idle_connections_are_closed() {
    let harness = Harness::start().await;
    let short = Duration::from_millis(500);
    let limits =
        IntakeSettings { max_connections: CROWD, head_timeout: short, body_timeout: short, ..intake_settings() };
    let server = Server::start(&harness, limits).await;
    let mut silent = crowd(&server, CROWD).await;
    // It takes all the room there is, and gives it back.
    let mut caller = server.connect().await;
    caller.send("GET /livez HTTP/1.1\r\nHost: intake\r\n\r\n").await;
    assert!(caller.answer().await.starts_with("HTTP/1.1 200 "));
    let ends = join_all(silent.iter_mut().map(Connection::rest)).await;
    assert!(ends.iter().all(String::is_empty));
}

const SHORT: Duration = Duration::from_millis(200);
const NEVER: Duration = Duration::from_hours(1);

async fn get_livez(connection: &mut Connection) {
    connection.send("GET /livez HTTP/1.1\r\nHost: intake\r\n\r\n").await;
    assert!(connection.answer().await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn a_connection_may_be_idle_for_longer_than_a_head_takes() {
    let harness = Harness::start().await;
    let idle_timeout = SHORT * 4;
    let limits = IntakeSettings { head_timeout: SHORT, idle_timeout, ..intake_settings() };
    let server = Server::start(&harness, limits).await;
    let mut connection = server.connect().await;
    get_livez(&mut connection).await;
    let begun = Instant::now();
    assert_eq!(connection.rest().await, "");
    assert!(begun.elapsed() >= idle_timeout - Duration::from_millis(10));
}

#[tokio::test]
async fn a_request_that_begins_on_an_idle_connection_has_the_head_timeout() {
    let harness = Harness::start().await;
    let limits = IntakeSettings { head_timeout: SHORT, idle_timeout: NEVER, ..intake_settings() };
    let server = Server::start(&harness, limits).await;
    let mut connection = server.connect().await;
    get_livez(&mut connection).await;
    connection.send("GET /livez").await;
    assert_eq!(connection.rest().await, "");
}

#[tokio::test]
async fn a_connection_that_waits_for_its_response_is_not_idle() {
    let harness = Harness::start().await;
    let limits = IntakeSettings { head_timeout: SHORT, idle_timeout: SHORT, max_connections: 1, ..intake_settings() };
    let server = Server::start(&harness, limits).await;
    let mut connection = server.connect().await;
    connection.send(head("Prefer: wait=1\r\nContent-Length: 1\r\n") + "x").await;
    assert!(connection.answer().await.starts_with("HTTP/1.1 202 "));
}

#[tokio::test]
async fn idle_connections_make_room_for_new_ones() {
    let harness = Harness::start().await;
    let limits = IntakeSettings { max_connections: 1, head_timeout: SHORT, idle_timeout: NEVER, ..intake_settings() };
    let server = Server::start(&harness, limits).await;
    let mut idle = server.connect().await;
    get_livez(&mut idle).await;
    get_livez(&mut server.connect().await).await;
    assert_eq!(idle.rest().await, "");
}

#[tokio::test]
async fn an_endless_body_is_refused_and_the_sender_sees_the_response() {
    let harness = Harness::start().await;
    let server = Server::start(&harness, intake_settings()).await;
    for (fields, part) in [
        ("Transfer-Encoding: chunked\r\n", format!("1000\r\n{}\r\n", "x".repeat(0x1000))),
        ("Content-Length: 1000000000\r\n", "x".repeat(0x1000)),
    ] {
        let (mut from, mut to) = server.connect().await.tcp.into_split();
        to.write_all(head(fields).as_bytes()).await.unwrap();
        let send = async { while to.write_all(part.as_bytes()).await.is_ok() {} };
        let mut answer = String::new();
        let both = async { tokio::join!(send, from.read_to_string(&mut answer)) };
        // Read whole: no reset came before its end.
        tokio::time::timeout(PATIENCE, both).await.expect("the sender is let go").1.unwrap();
        refused(&answer, 413, "body_too_large");
    }
    assert_eq!(harness.length("b").await, 0);
}

#[tokio::test]
async fn incomplete_bodies_use_bounded_memory() {
    let harness = Harness::start().await;
    let server = Server::start(&harness, IntakeSettings { max_bodies: 140_000, ..intake_settings() }).await;
    let mut slow = server.connect().await;
    slow.send(head("Content-Length: 60000\r\n") + &"x".repeat(59_999)).await;
    let large = last("POST /v1/buckets/b/jobs", "", &"y".repeat(20_000));
    let until = async |status: &'static str| {
        loop {
            let answer = server.ask(&large).await;
            if answer.starts_with(status) {
                return answer;
            }
        }
    };
    let told = tokio::time::timeout(PATIENCE, until("HTTP/1.1 503 ")).await.expect("the room is taken");
    refused(&told, 503, "overloaded");
    assert!(told.contains("retry-after: 1\r\n"), "{told}");
    assert!(server.ask(last("POST /v1/buckets/b/jobs", "", "small")).await.starts_with("HTTP/1.1 202 "));
    slow.send("x").await;
    assert!(slow.answer().await.starts_with("HTTP/1.1 202 "));
    tokio::time::timeout(PATIENCE, until("HTTP/1.1 202 ")).await.expect("the room is free again");
}

#[tokio::test]
async fn a_client_that_reads_no_response_is_disconnected() {
    let harness = Harness::start().await;
    let short = IntakeSettings { body_timeout: Duration::from_millis(300), max_connections: 1, ..intake_settings() };
    let server = Server::start(&harness, short).await;
    let mut deaf = server.connect().await;
    // More than what lies between us holds.
    let requests = "GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: intake\r\n\r\n".repeat(20);
    deaf.send(requests).await;
    let mut next = server.connect().await;
    next.send("GET /livez HTTP/1.1\r\nHost: intake\r\n\r\n").await;
    assert!(next.answer().await.starts_with("HTTP/1.1 200 "));
}
