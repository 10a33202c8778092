//! Answers that never come to their end, in whatever comes beside the bytes of a body.

use super::*;

/// Sends `head` once and then `rest` for as long as it is read.
async fn endless(head: impl Into<String>, rest: &str) -> Server {
    let sent = Arc::new((head.into(), rest.repeat(4096)));
    Server::start(move |mut stream| {
        let parts = Arc::clone(&sent);
        async move {
            let (head, rest) = &*parts;
            read_head(&mut stream).await;
            let mut sent = stream.write_all(head.as_bytes()).await;
            while sent.is_ok() {
                sent = stream.write_all(rest.as_bytes()).await;
            }
        }
    })
    .await
}

#[tokio::test]
async fn answers_before_the_answer_are_left_at_their_bound() {
    for interim in ["100 Continue\r\n", "102 Processing\r\n", "103 Early Hints\r\nLink: </style.css>\r\n"] {
        let server = endless("", &format!("HTTP/1.1 {interim}\r\n")).await;
        let called = call_at(&server.url, BOUNDS).await;
        let expected = "the upstream sent more than 256 KiB before its answer, such as endless 1xx answers";
        assert_eq!((why(&called), called.class), (expected, "garbled"), "{interim}");
        server.until_done().await;
    }
}

#[tokio::test]
async fn what_frames_a_body_is_left_at_its_bound() {
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (begun, rest) in [("", "0"), ("1", " "), ("1;", "x"), ("0\r\n", "X: x\r\n"), ("0\r\nX: ", "x")] {
        let server = endless(format!("{chunked}{begun}"), rest).await;
        let called = call_at(&server.url, BOUNDS).await;
        assert_eq!(called.class, "cut", "{begun:?} and {rest:?} without an end: {called:?}");
        server.until_done().await;
    }
}

#[tokio::test]
async fn a_body_in_the_smallest_chunks_is_read_whole() {
    let chunks = "1\r\nx\r\n".repeat(50_000);
    let answer = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{chunks}0\r\n\r\n");
    let called = call_at(&Server::saying(answer).await.url, CallBounds { kept_bytes: 100_000, ..BOUNDS }).await;
    assert_eq!((status(&called), called.body.unwrap().body.len()), (200, 50_000));
}

#[tokio::test]
async fn some_answers_before_the_answer_are_read_over() {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n".repeat(1000);
    let answer = format!("{hints}HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nfed");
    assert_eq!(status(&call_at(&Server::saying(answer).await.url, BOUNDS).await), 200);
}

#[tokio::test]
async fn each_answer_of_a_kept_connection_has_its_bound() {
    // Twice as much together as one may take.
    let answer =
        format!("{}HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nfed", "HTTP/1.1 102 Processing\r\n\r\n".repeat(6000));
    let server = Server::start(move |mut stream| {
        let answer = answer.clone();
        async move {
            while !read_head(&mut stream).await.is_empty() {
                stream.write_all(answer.as_bytes()).await.unwrap();
            }
        }
    })
    .await;
    let client = client(settings(&server.url));
    for _ in 0..4 {
        assert_eq!(status(&call_with(&client, &server.url, BOUNDS).await), 200);
    }
    assert_eq!(server.connections(), 1);
}
