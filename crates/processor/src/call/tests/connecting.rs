//! How a connection to an upstream is made.

use std::sync::atomic::AtomicBool;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio::runtime::Builder;

use super::*;

#[tokio::test]
async fn a_tls_upstream_that_does_not_speak_tls_is_not_reached() {
    let server = Server::start(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    })
    .await;
    let called = call_at(&server.url.replace("http", "https"), BOUNDS).await;
    assert_eq!(called.class, "connect", "{called:?}");
}

#[tokio::test]
async fn an_upstream_that_is_not_there_is_told_apart() {
    // Nobody else can listen there meanwhile.
    let nobody = TcpSocket::new_v4().unwrap();
    nobody.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let url = format!("http://{}/", nobody.local_addr().unwrap());
    let called = call_at(&url, BOUNDS).await;
    assert!(why(&called).contains("Connection refused"), "{called:?}");
    assert_eq!(called.class, "connect");
}

#[tokio::test]
async fn a_name_that_leads_into_a_private_network_is_not_connected_to() {
    let server = Server::saying("HTTP/1.1 200 OK\r\n\r\n").await;
    let url = server.url.replace("127.0.0.1", "localhost");
    let guarded = client(UpstreamSettings { allow_private: false, ..settings(&url) });
    let called = call_with(&guarded, &url, BOUNDS).await;
    assert!(why(&called).contains("only private addresses"), "{called:?}");
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_name_that_could_not_be_looked_up_for_want_of_a_thread_costs_no_attempt_and_is_looked_up_again() {
    let are_refused = Arc::new(AtomicBool::new(true));
    let refused = Arc::clone(&are_refused);
    let mut builder = Builder::new_current_thread();
    builder.enable_all().thread_name_fn(move || {
        assert!(!refused.load(Ordering::SeqCst), "OS can't spawn worker thread");
        "lookup".to_owned()
    });
    builder.build().unwrap().block_on(async {
        let server = Server::saying(EMPTY).await;
        let url = server.url.replace("127.0.0.1", "localhost");
        let client = client(settings(&url));
        for _ in 0..2 {
            let request = Request::post(&url).body(Full::default()).unwrap();
            let shortage = call(&client, request, BOUNDS).await.unwrap_err();
            assert!(shortage.to_string().contains("TasksMax="), "{shortage}");
        }
        are_refused.store(false, Ordering::SeqCst);
        assert_eq!(status(&call_with(&client, &url, BOUNDS).await), 200);
    });
}

#[tokio::test]
async fn connecting_has_its_own_time_limit() {
    // Accepts, and never says a word of TLS.
    let server =
        Server::start(|mut stream| async move { while stream.read(&mut [0; 64]).await.is_ok_and(|n| n > 0) {} }).await;
    let url = server.url.replace("http", "https");
    let hurried = client(UpstreamSettings { connect_timeout: SOON, ..settings(&url) });
    let called = call_with(&hurried, &url, BOUNDS).await;
    assert_eq!(why(&called), "can't connect to the upstream: timeout");
    server.until_done().await;
}
