//! Calls of servers that behave badly, each a real one on loopback: what they can't keep, and for how long.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use dripfeed_client::{BucketName, Client, ClientError, NewJob, Retries};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

const SOON: Duration = Duration::from_millis(200);
const PATIENCE: Duration = Duration::from_secs(60);
const RECEIPT: &str = r#"{"id":"1-0","bucket":"b","level":1,"capacity":1,"durability":"process","eta_ms":0}"#;

/// A client of a server that treats each connection as `behave` does.
async fn client_of<F, B>(behave: F) -> Client
where
    F: Fn(TcpStream) -> B + Send + 'static,
    B: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(behave(stream));
        }
    });
    Client::builder(url).retries(Retries::within(SOON).at_most(1)).build().unwrap()
}

/// Of a server that says this as soon as it is connected to, and reads nothing.
async fn client_of_deaf(answer: String) -> Client {
    client_of(move |mut stream| {
        let answer = answer.clone();
        async move {
            let _ = stream.write_all(answer.as_bytes()).await;
            pending::<()>().await;
        }
    })
    .await
}

/// One that no socket buffers whole, and what ends when nobody has it any more.
fn large_job() -> (NewJob, mpsc::Receiver<()>) {
    struct Body(Vec<u8>, #[expect(dead_code, reason = "dropped with it")] mpsc::Sender<()>);
    impl AsRef<[u8]> for Body {
        fn as_ref(&self) -> &[u8] {
            &self.0
        }
    }
    let (owner, gone) = mpsc::channel(1);
    (NewJob::new(Bytes::from_owner(Body(vec![b'x'; 32 << 20], owner))), gone)
}

async fn is_released(mut gone: mpsc::Receiver<()>) {
    assert!(timeout(PATIENCE, gone.recv()).await.is_ok(), "the request is kept for the server");
}

fn bucket() -> BucketName {
    "b".parse().unwrap()
}

#[tokio::test]
async fn a_server_that_never_answers_and_never_reads_keeps_nothing() {
    let client = client_of_deaf(String::new()).await;
    let (job, gone) = large_job();
    let error = client.push(&bucket(), &job).await.unwrap_err();
    assert!(matches!(error, ClientError::Silent(_)), "{error:?}");
    drop(job);
    is_released(gone).await;
}

#[tokio::test]
async fn a_server_that_answers_without_reading_the_request_keeps_nothing() {
    let answer = format!("HTTP/1.1 202 Accepted\r\nContent-Length: {}\r\n\r\n{RECEIPT}", RECEIPT.len());
    let client = client_of(move |mut stream| {
        let answer = answer.clone();
        async move {
            stream.read_exact(&mut [0; 16]).await.unwrap();
            stream.write_all(answer.as_bytes()).await.unwrap();
            pending::<()>().await;
        }
    })
    .await;
    let (job, gone) = large_job();
    client.push(&bucket(), &job).await.unwrap();
    drop(job);
    is_released(gone).await;
}

#[tokio::test]
async fn a_server_that_answers_half_and_never_reads_keeps_nothing() {
    let client = client_of(|mut stream| async move {
        stream.read_exact(&mut [0; 16]).await.unwrap();
        stream.write_all(b"HTTP/1.1 202 Accepted\r\nContent-Length: 200\r\n\r\nand no more").await.unwrap();
        pending::<()>().await;
    })
    .await;
    let (job, gone) = large_job();
    let error = client.push(&bucket(), &job).await.unwrap_err();
    assert!(matches!(error, ClientError::Silent(_)), "{error:?}");
    drop(job);
    is_released(gone).await;
}

/// Sends `head` once and then `rest` without an end, until it is disconnected.
async fn client_of_endless(head: &'static [u8], rest: Vec<u8>) -> (Client, mpsc::Receiver<()>) {
    let (connected, disconnected) = mpsc::channel(1);
    let client = client_of(move |mut stream| {
        let (rest, connected) = (rest.clone(), connected.clone());
        async move {
            stream.read_exact(&mut [0; 16]).await.unwrap();
            stream.write_all(head).await.unwrap();
            while stream.write_all(&rest).await.is_ok() {}
            let _ = connected.send(()).await;
        }
    })
    .await;
    (client, disconnected)
}

#[tokio::test]
async fn an_answer_without_an_end_is_cut() {
    let (client, mut disconnected) = client_of_endless(b"HTTP/1.1 200 OK\r\n\r\n", vec![b' '; 1 << 20]).await;
    let error = timeout(PATIENCE, client.get("/v1/buckets")).await.unwrap().unwrap_err();
    assert!(matches!(error, ClientError::TooLarge(_)), "{error:?}");
    assert!(timeout(PATIENCE, disconnected.recv()).await.is_ok(), "it is still connected");
}

#[tokio::test]
async fn headers_without_an_end_are_cut() {
    let (client, mut disconnected) = client_of_endless(b"HTTP/1.1 200 OK\r\nX: ", vec![b'x'; 1 << 20]).await;
    let error = timeout(PATIENCE, client.get("/v1/buckets")).await.unwrap().unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error:?}");
    assert!(timeout(PATIENCE, disconnected.recv()).await.is_ok(), "it is still connected");
}

#[tokio::test]
async fn a_server_that_drips_is_left_in_time() {
    for head in [&b"HTTP/1.1 200 OK\r\nX: "[..], b"HTTP/1.1 202 Accepted\r\nContent-Length: 1000000000\r\n\r\n"] {
        let (gone, mut left) = mpsc::channel(1);
        let client = client_of(move |mut stream| {
            let gone = gone.clone();
            async move {
                stream.read_exact(&mut [0; 16]).await.unwrap();
                stream.write_all(head).await.unwrap();
                while stream.write_all(b"x").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                let _ = gone.send(()).await;
            }
        })
        .await;
        let error = client.push(&bucket(), &NewJob::new("x")).await.unwrap_err();
        assert!(matches!(error, ClientError::Silent(_)), "{error:?}");
        assert!(timeout(PATIENCE, left.recv()).await.is_ok(), "it is still connected");
    }
}

#[tokio::test]
async fn a_push_that_gets_no_answer_is_sent_again_within_its_time() {
    let connections = Arc::new(AtomicU32::new(0));
    let answer = format!("HTTP/1.1 202 Accepted\r\nContent-Length: {}\r\n\r\n{RECEIPT}", RECEIPT.len());
    let client = client_of(move |mut stream| {
        let (first, answer) = (connections.fetch_add(1, Ordering::Relaxed) == 0, answer.clone());
        async move {
            let _ = stream.read(&mut [0; 4096]).await;
            if !first {
                let _ = stream.write_all(answer.as_bytes()).await;
            }
            pending::<()>().await;
        }
    })
    .await;
    let client = client.with_retries(Retries::within(Duration::from_secs(6)));
    let receipt = client.push(&bucket(), &NewJob::new("{}")).await.unwrap();
    assert_eq!(receipt.id.to_string(), "1-0");
}

/// Answers each request with what `answer` says of its head, and with how many came before. Empty: not at all.
async fn client_of_pages(answer: fn(&str, u32) -> &'static str) -> Client {
    let requests = Arc::new(AtomicU32::new(0));
    client_of(move |mut stream| {
        let requests = Arc::clone(&requests);
        async move {
            let mut head = [0; 4096];
            while let Ok(read @ 1..) = stream.read(&mut head).await {
                let head = String::from_utf8_lossy(&head[..read]).into_owned();
                let body = answer(&head, requests.fetch_add(1, Ordering::Relaxed));
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len());
                if body.is_empty() || stream.write_all(answer.as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    })
    .await
}

#[tokio::test]
async fn a_list_goes_on_where_a_page_got_no_answer() {
    let client = client_of_pages(|head, before| match before {
        0 => r#"{"items":[1],"next":"a"}"#,
        _ if !head.contains("cursor=a") => r#"{"items":["again from the beginning"]}"#,
        1 => "",
        _ => r#"{"items":[2],"next":null}"#,
    })
    .await;
    let client = client.with_retries(Retries::within(PATIENCE));
    let (mut pages, mut items) = (client.list("/v1/buckets/b/jobs", &[], 10), Vec::new());
    while let Some(page) = pages.next().await.unwrap() {
        items.extend(page);
    }
    assert_eq!(items, [1, 2]);
}

#[tokio::test]
async fn an_answer_without_items_is_no_list() {
    let client = client_of_pages(|_, _| r#"{"error":"sign in"}"#).await;
    let error = client.list("/v1/buckets/b/jobs", &[], 10).next().await.unwrap_err();
    assert!(matches!(error, ClientError::Unexpected(_)), "{error:?}");
}
