//! How a connection to an upstream is used, and used again.

use std::sync::atomic::AtomicBool;

use http::header::HOST;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;

use super::*;

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
async fn a_body_after_an_answer_that_has_none_is_not_taken_for_the_next_answer() {
    const BODY: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    for (method, code, announced, connections) in [
        (Method::POST, 204, "Content-Length: 38", 3),
        (Method::POST, 204, "Transfer-Encoding: chunked", 3),
        (Method::POST, 204, "Content-Length: 0", 1),
        (Method::POST, 304, "Content-Length: 38", 3),
        (Method::HEAD, 404, "Content-Length: 38", 3),
        (Method::HEAD, 404, "Content-Length: 0", 1),
    ] {
        let answer = format!("HTTP/1.1 {code} Answer\r\n{announced}\r\n\r\n");
        let server = Server::start(move |mut stream| {
            let (answer, body) = (answer.clone(), if connections == 1 { "" } else { BODY });
            async move {
                let mut late = "";
                while !read_head(&mut stream).await.is_empty() {
                    // The body of the answer before is on its way until then.
                    let _ = stream.write_all(late.as_bytes()).await;
                    let _ = stream.write_all(answer.as_bytes()).await;
                    late = body;
                }
            }
        })
        .await;
        let client = client(settings(&server.url));
        for _ in 0..3 {
            let request = Request::builder().method(&method).uri(&server.url).body(Full::default()).unwrap();
            let called = call(&client, request, BOUNDS).await.unwrap();
            assert_eq!(status(&called), code, "{method} {announced}");
        }
        assert_eq!(server.connections(), connections, "{method} {code} {announced}");
    }
}

#[tokio::test]
async fn an_upstream_that_ended_one_connection_of_many_soon_keeps_them_again() {
    let is_first = Arc::new(AtomicBool::new(true));
    let server = Server::start(move |mut stream| {
        let ends = is_first.swap(false, Ordering::Relaxed);
        async move {
            while !read_head(&mut stream).await.is_empty() && stream.write_all(EMPTY).await.is_ok() && !ends {}
            if ends {
                read_head(&mut stream).await;
            }
        }
    })
    .await;
    let client = client(settings(&server.url));
    assert_eq!(status(&call_with(&client, &server.url, BOUNDS).await), 200);
    assert_eq!(call_with(&client, &server.url, BOUNDS).await.class, "cut");
    for _ in 0..600 {
        assert_eq!(status(&call_with(&client, &server.url, BOUNDS).await), 200);
    }
    assert_eq!(server.connections(), 502, "the first, 500 that were closed, and one that was kept");
}

#[tokio::test]
async fn an_upstream_that_ends_a_kept_connection_gets_each_request_on_a_new_one() {
    // What it does with the second request on a connection: the others are answered.
    for (second, class) in [("", "cut"), ("null", "garbled")] {
        let server = Server::start(move |mut stream| async move {
            read_head(&mut stream).await;
            let _ = stream.write_all(EMPTY).await;
            read_head(&mut stream).await;
            let _ = stream.write_all(second.as_bytes()).await;
        })
        .await;
        let client = client(settings(&server.url));
        assert_eq!(status(&call_with(&client, &server.url, BOUNDS).await), 200);
        assert_eq!(call_with(&client, &server.url, BOUNDS).await.class, class);
        for connections in 2..=4 {
            assert_eq!(status(&call_with(&client, &server.url, BOUNDS).await), 200);
            assert_eq!(server.connections(), connections);
        }
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
    let called = call(&client, request, CallBounds { timeout: SOON, ..BOUNDS }).await.unwrap();
    assert_eq!(called.class, "timeout");
    assert!(timeout(Duration::from_mins(1), gone.recv()).await.is_ok(), "the request is kept for an upstream");
}
