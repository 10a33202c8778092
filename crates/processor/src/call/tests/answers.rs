//! What is read of an answer, however bad it is.

use dripfeed_outbound::Dial;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

#[tokio::test]
async fn a_whole_answer_is_kept_up_to_its_bound() {
    for (text, kept, truncated) in
        [("fed", "fed", false), ("0123456789", "0123456789", false), ("0123456789+", "0123456789", true)]
    {
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n", text.len());
        let called = call_at(&Server::saying(head + text).await.url, BOUNDS).await;
        let body = called.body.as_ref().unwrap();
        assert_eq!((status(&called), called.class), (200, "2xx"));
        assert_eq!((body.body.as_str(), body.truncated), (kept, truncated));
        assert_eq!(body.content_type.as_deref(), Some("text/plain"));
    }
    let compressed = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 1\r\n\r\nx";
    let compressed = call_at(&Server::saying(compressed).await.url, BOUNDS).await.body.unwrap();
    assert_eq!(compressed.content_encoding.as_deref(), Some("gzip"));
    let empty = call_at(&Server::saying("HTTP/1.1 204 No Content\r\n\r\n").await.url, BOUNDS).await;
    assert_eq!((status(&empty), empty.body), (204, None));
}

#[tokio::test]
async fn a_cut_answer_is_no_answer() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nfed",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nfed\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\nfed",
        "HTTP/1.1 200 OK\r\nContent-Le",
        "",
    ] {
        let called = call_at(&Server::saying(answer).await.url, BOUNDS).await;
        assert!(why(&called).starts_with("the answer was cut off"), "{answer:?}: {called:?}");
        assert_eq!(called.class, "cut", "{answer:?}");
    }
    let whole = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nfed\r\n0\r\n\r\n";
    assert_eq!(status(&call_at(&Server::saying(whole).await.url, BOUNDS).await), 200);
}

#[tokio::test]
async fn a_reset_after_the_request_is_one_attempt() {
    let server = Server::start(|mut stream| async move {
        read_head(&mut stream).await;
        stream.set_zero_linger().unwrap();
    })
    .await;
    let called = call_at(&server.url, BOUNDS).await;
    assert_eq!(called.class, "cut", "{called:?}");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn what_is_not_http_is_said_so() {
    let called = call_at(&Server::saying("SSH-2.0-OpenSSH_9.9\r\n").await.url, BOUNDS).await;
    assert_eq!(called.class, "garbled", "{called:?}");
}

#[tokio::test]
async fn one_that_speaks_first_is_said_to_be_no_http_server() {
    let server = Server::start(|mut stream| async move {
        stream.write_all(b"220 mail.example ESMTP\r\n").await.unwrap();
        // Reads until the caller has hung up.
        while stream.read(&mut [0; 64]).await.is_ok_and(|bytes| bytes > 0) {}
    })
    .await;
    let greeted = tower::service_fn(|url: http::Uri| async move {
        let stream = TcpStream::connect(url.authority().unwrap().as_str()).await?;
        stream.readable().await?;
        Ok::<_, tower::BoxError>(MaybeHttpsStream::Http(TokioIo::new(stream)))
    });
    let client = HttpClient::new(Arc::new(Dial::new(greeted)), server.url.parse().unwrap());
    let called = call_with(&client, &server.url, BOUNDS).await;
    assert_eq!(called.class, "cut", "{called:?}");
    assert!(why(&called).ends_with("is it an HTTP/1.1 server?"), "{called:?}");
}

#[tokio::test]
async fn a_content_type_without_an_end_is_cut() {
    let kept = |content_type: String| async move {
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: 1\r\n\r\nx");
        let body = call_at(&Server::saying(answer).await.url, BOUNDS).await.body.unwrap();
        body.content_type.unwrap()
    };
    assert_eq!(kept(format!("text/plain; profile={}", "x".repeat(50_000))).await, "text/plain");
    assert_eq!(kept(format!("text/{}", "x".repeat(50_000))).await, format!("text/{}", "x".repeat(95)));
}

#[tokio::test]
async fn an_answer_has_as_many_headers_and_lines_as_servers_send() {
    let many: String = (0..200).map(|n| format!("X-{n}: {n}\r\n")).collect();
    for headers in [many.as_str(), "X-Folded: one\r\n two\r\n\tthree\r\n"] {
        let answer = format!("HTTP/1.1 200 OK\r\n{headers}Retry-After: 7\r\nContent-Length: 3\r\n\r\nfed");
        let called = call_at(&Server::saying(answer).await.url, BOUNDS).await;
        assert_eq!((status(&called), called.body.unwrap().body.as_str()), (200, "fed"));
    }
}

/// Its answers have these many headers, one after the other, over any connections: the first hundred have few.
async fn sending_headers(counts: &'static [usize]) -> Server {
    let answers = Arc::new(AtomicUsize::new(0));
    Server::start(move |mut stream| {
        let answers = Arc::clone(&answers);
        async move {
            while !read_head(&mut stream).await.is_empty() {
                let number = answers.fetch_add(1, Ordering::SeqCst);
                let count = number.checked_sub(100).map_or(1, |later| counts[later]);
                let headers: String = (0..count).map(|n| format!("X-{n}: {n}\r\n")).collect();
                let answer = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: 0\r\n\r\n");
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        }
    })
    .await
}

async fn call_a_hundred_times(client: &HttpClient, server: &Server) {
    for _ in 0..100 {
        assert_eq!(status(&call_with(client, &server.url, BOUNDS).await), 200);
        assert_eq!(server.connections(), 1);
    }
}

#[tokio::test]
async fn room_for_many_headers_is_made_for_who_sends_many() {
    let server = sending_headers(&[1, 1, 60, 200, 200]).await;
    let client = client(settings(&server.url));
    call_a_hundred_times(&client, &server).await;
    for connections in [2, 2, 2, 3, 3] {
        assert_eq!(status(&call_with(&client, &server.url, BOUNDS).await), 200);
        assert_eq!(server.connections(), connections);
    }
}

#[tokio::test]
async fn who_has_sent_few_headers_may_send_many_from_the_second_time_on() {
    let server = sending_headers(&[200, 200, 200]).await;
    let client = client(settings(&server.url));
    call_a_hundred_times(&client, &server).await;
    assert_eq!(call_with(&client, &server.url, BOUNDS).await.class, "garbled");
    for _ in 0..2 {
        assert_eq!(status(&call_with(&client, &server.url, BOUNDS).await), 200);
    }
}

#[tokio::test]
async fn ten_thousand_headers_are_not_read() {
    let headers: String = (0..10_000).map(|n| format!("X-{n}: {n}\r\n")).collect();
    let called = call_at(&Server::saying(format!("HTTP/1.1 200 OK\r\n{headers}\r\n")).await.url, BOUNDS).await;
    assert_eq!(called.class, "garbled", "{called:?}");
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "x".repeat(1 << 20));
    assert_eq!(call_at(&Server::saying(long).await.url, BOUNDS).await.class, "garbled");
}

#[tokio::test]
async fn an_endless_body_is_left_at_its_bound() {
    let server = Server::start(|mut stream| async move {
        read_head(&mut stream).await;
        let mut sent = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        while sent.is_ok() {
            sent = stream.write_all(&[b'x'; 4096]).await;
        }
    })
    .await;
    let called = call_at(&server.url, BOUNDS).await;
    assert_eq!(status(&called), 200);
    assert!(called.body.unwrap().truncated);
    // The connection was closed: the server can't send any more.
    server.until_done().await;
}

#[tokio::test]
async fn an_upstream_that_never_answers_or_drips_frees_its_slot_at_the_time_limit() {
    let silent = Server::start(|mut stream| async move {
        read_head(&mut stream).await;
        // Reads until the caller has hung up.
        let _ = stream.read(&mut [0]).await;
    })
    .await;
    let dripping = Server::start(|mut stream| async move {
        read_head(&mut stream).await;
        let mut sent = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
        while sent.is_ok() {
            tokio::time::sleep(SOON / 20).await;
            sent = stream.write_all(b"x").await;
        }
    })
    .await;
    for server in [silent, dripping] {
        let called = call_at(&server.url, CallBounds { timeout: SOON, ..BOUNDS }).await;
        assert_eq!((why(&called), called.class), ("no complete answer within 200ms", "timeout"));
        server.until_done().await;
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Server::saying("HTTP/1.1 200 OK\r\n\r\n").await;
    let answer = format!("HTTP/1.1 302 Found\r\nLocation: {}\r\nContent-Length: 0\r\n\r\n", elsewhere.url);
    let called = call_at(&Server::saying(answer).await.url, BOUNDS).await;
    assert_eq!((status(&called), called.class), (302, "3xx"));
    assert_eq!(elsewhere.connections(), 0);
}
