//! How a connection to an upstream is made, and used again.

use std::sync::atomic::AtomicBool;

use http::header::HOST;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::mpsc;

use super::*;

const EMPTY: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";

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
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    drop(listener);
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

#[tokio::test]
async fn an_upstream_that_closes_a_quiet_connection_costs_no_attempt() {
    let server = Server::saying(EMPTY).await;
    let client = client(settings(&server.url));
    for calls in 1..=20 {
        assert_eq!(status(&call_with(&client, &server.url, BOUNDS).await), 200);
        server.until_done().await;
        assert_eq!(server.connections(), calls);
    }
}

#[tokio::test]
async fn a_connection_serves_many_calls() {
    let server = Server::start(|mut stream| async move {
        for _ in 0..3 {
            read_head(&mut stream).await;
            let _ = stream.write_all(EMPTY).await;
        }
    })
    .await;
    let client = client(settings(&server.url));
    for _ in 0..3 {
        assert_eq!(status(&call_with(&client, &server.url, BOUNDS).await), 200);
    }
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_connection_is_kept_no_longer_than_its_upstream_says() {
    let server = Server::start(|mut stream| async move {
        while !read_head(&mut stream).await.is_empty() {
            let answer = b"HTTP/1.1 200 OK\r\nKeep-Alive: timeout=0, max=9\r\nContent-Length: 0\r\n\r\n";
            let _ = stream.write_all(answer).await;
        }
    })
    .await;
    let client = client(settings(&server.url));
    for calls in 1..=3 {
        assert_eq!(status(&call_with(&client, &server.url, BOUNDS).await), 200);
        assert_eq!(server.connections(), calls);
    }
}

#[tokio::test]
async fn a_request_has_its_path_and_its_host() {
    let (heads, mut seen) = mpsc::channel(2);
    let server = Server::start(move |mut stream| {
        let heads = heads.clone();
        async move {
            heads.send(read_head(&mut stream).await).await.unwrap();
            let _ = stream.write_all(EMPTY).await;
        }
    })
    .await;
    let client = client(settings(&server.url));
    let url = format!("{}a/b?c=d", server.url);
    let host = server.url.trim_start_matches("http://").trim_end_matches('/');
    call_with(&client, &url, BOUNDS).await;
    let head = seen.recv().await.unwrap();
    assert!(head.starts_with("POST /a/b?c=d HTTP/1.1\r\n"), "{head}");
    assert!(head.contains(&format!("host: {host}\r\n")), "{head}");
    // One that is configured wins.
    let request = Request::post(&server.url).header(HOST, "other.example").body(Full::default()).unwrap();
    call(&client, request, BOUNDS).await.unwrap();
    let head = seen.recv().await.unwrap();
    assert!(head.starts_with("POST / HTTP/1.1\r\n") && head.contains("host: other.example\r\n"), "{head}");
}

#[tokio::test]
async fn a_quiet_connection_is_closed() {
    let server = Server::start(|mut stream| async move {
        read_head(&mut stream).await;
        let _ = stream.write_all(EMPTY).await;
        let _ = stream.read(&mut [0]).await;
    })
    .await;
    let client = client(settings(&server.url));
    assert_eq!(status(&call_with(&client, &server.url, BOUNDS).await), 200);
    assert!(timeout(Duration::from_mins(1), server.until_done()).await.is_ok(), "it is kept");
}

/// Answers the head of a request, and reads nothing of its body.
async fn unread(answer: &'static [u8]) -> Server {
    Server::start(move |mut stream| async move {
        read_head(&mut stream).await;
        let _ = stream.write_all(answer).await;
        std::future::pending::<()>().await;
    })
    .await
}

/// A request that no socket buffers whole, and what ends when nobody has it any more.
fn large_request(url: &str) -> (Request<Full<Bytes>>, mpsc::Receiver<()>) {
    struct Held(Vec<u8>, #[expect(dead_code, reason = "dropped with it")] mpsc::Sender<()>);
    impl AsRef<[u8]> for Held {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    let (holder, gone) = mpsc::channel(1);
    let body = Bytes::from_owner(Held(vec![b'x'; 32 << 20], holder));
    (Request::post(url).body(Full::new(body)).unwrap(), gone)
}

#[tokio::test]
async fn nobody_waits_for_a_connection_whose_request_is_still_being_sent() {
    let server = unread(EMPTY).await;
    let client = client(settings(&server.url));
    let (request, mut gone) = large_request(&server.url);
    assert_eq!(status(&call(&client, request, BOUNDS).await.unwrap()), 200);
    assert_eq!(status(&call_with(&client, &server.url, BOUNDS).await), 200);
    assert_eq!(server.connections(), 2);
    assert!(timeout(Duration::from_mins(1), gone.recv()).await.is_ok(), "the request is kept for an upstream");
}

#[tokio::test]
async fn a_request_that_is_not_read_is_given_up_with_its_answer() {
    let server = unread(b"HTTP/1.1 200 OK\r\nContent-Length: 200\r\n\r\nand no more").await;
    let client = client(settings(&server.url));
    let (request, mut gone) = large_request(&server.url);
    let called = call(&client, request, CallBounds { time: SOON, ..BOUNDS }).await.unwrap();
    assert_eq!(called.class, "timeout");
    assert!(timeout(Duration::from_mins(1), gone.recv()).await.is_ok(), "the request is kept for an upstream");
}
