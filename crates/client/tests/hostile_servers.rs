//! Calls of servers that behave badly, each a real one on loopback: what they can't keep, and for how long.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use bytes::Bytes;
use dripfeed_client::{BucketName, Client, ClientError, NewJob, Retries};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

/// For an answer that doesn't come.
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
    Client::builder(url).retries(Retries::within(PATIENCE).at_most(1)).build().unwrap()
}

fn hasty(client: &Client) -> Client {
    client.with_retries(Retries::within(SOON).at_most(1))
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
    let error = hasty(&client).push(&bucket(), &job).await.unwrap_err();
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
    let error = hasty(&client).push(&bucket(), &job).await.unwrap_err();
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
    assert!(matches!(error, ClientError::Cut(_)), "{error:?}");
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
        let error = hasty(&client).push(&bucket(), &NewJob::new("x")).await.unwrap_err();
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

/// Answers each connection's request with the next of these; an empty one is no answer. The last one goes on.
async fn client_of_answers(answers: &'static [&'static str]) -> (Client, Arc<AtomicU32>) {
    let requests = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&requests);
    let client = client_of(move |mut stream| {
        let number = usize::try_from(counted.fetch_add(1, Ordering::Relaxed)).unwrap();
        async move {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(answers[number.min(answers.len() - 1)].as_bytes()).await;
        }
    })
    .await;
    (client, requests)
}

#[tokio::test]
async fn a_page_of_another_server_is_no_delivery() {
    for page in ["HTTP/1.1 200 OK\r\n\r\n<html>Sign in</html>", "HTTP/1.1 200 OK\r\n\r\n{\"ok\":true}"] {
        let client = client_of(move |mut stream| async move {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(page.as_bytes()).await;
        })
        .await;
        let answer = client.push_and_wait(&bucket(), &NewJob::new("x"), SOON).await;
        assert!(matches!(answer, Err(ClientError::Unexpected(_))), "{answer:?}");
    }
}

#[tokio::test]
async fn a_wait_in_any_form_is_obeyed() {
    const ANSWERS: [&[&str]; 2] = [
        &["HTTP/1.1 503 X\r\nRetry-After: Fri, 31 Dec 9999 23:59:59 GMT\r\nContent-Length: 0\r\n\r\n"],
        &["HTTP/1.1 429 X\r\nRetry-After: 99999999999999999999999\r\nContent-Length: 0\r\n\r\n"],
    ];
    for answers in ANSWERS {
        let (client, requests) = client_of_answers(answers).await;
        let client = client.with_retries(Retries::within(PATIENCE).at_most(2));
        let error = client.push(&bucket(), &NewJob::new("x")).await.unwrap_err();
        assert!(error.retry_after() > Some(Duration::from_secs(1 << 30)), "{error:?}");
        assert_eq!(requests.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test]
async fn a_server_that_is_reached_and_ends_the_connection_may_have_got_the_call() {
    for answers in [&[""][..], &["HTTP/1.1 20"], &["HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{}"]] {
        let (client, _) = client_of_answers(answers).await;
        let error = client.get("/v1/buckets").await.unwrap_err();
        assert!(matches!(error, ClientError::Cut(_)), "{error:?}");
    }
    // Nobody else can listen there meanwhile.
    let nobody = TcpSocket::new_v4().unwrap();
    nobody.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let error =
        Client::new(format!("http://{}", nobody.local_addr().unwrap())).unwrap().get("/v1/buckets").await.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_response_that_is_not_http_is_reported_at_once() {
    // The second is what a server of TLS says to a request without.
    for answers in [&["SSH-2.0-OpenSSH_9.9\r\n"][..], &["\x15\x03\x03\0\x02\x02\x32"]] {
        let (client, requests) = client_of_answers(answers).await;
        let client = client.with_retries(Retries::within(PATIENCE));
        let error = client.push(&bucket(), &NewJob::new("x")).await.unwrap_err();
        assert!(error.to_string().contains("https://"), "{error}");
        assert_eq!(requests.load(Ordering::Relaxed), 1);
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_and_says_where_it_leads() {
    let (client, requests) =
        client_of_answers(&["HTTP/1.1 308 X\r\nLocation: https://queue.example/v1/\r\nContent-Length: 0\r\n\r\n"])
            .await;
    let client = client.with_retries(Retries::within(PATIENCE).at_most(3));
    let error = client.push(&bucket(), &NewJob::new("x")).await.unwrap_err();
    assert!(error.to_string().contains("https://queue.example/v1/"), "{error}");
    assert_eq!(requests.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn a_replay_with_an_unknown_outcome_is_not_repeated() {
    const LETTER_IS_GONE: &str = "HTTP/1.1 404 X\r\nContent-Length: 2\r\n\r\n{}";
    for (first, status) in [
        ("HTTP/1.1 504 X\r\nContent-Length: 0\r\n\r\n", 504),
        ("HTTP/1.1 503 X\r\n\r\n{\"code\":\"store_unavailable\",\"outcome\":\"unknown\",\"retry_after_ms\":1}", 503),
    ] {
        let answers: &'static [&'static str] = Vec::leak(vec![first, LETTER_IS_GONE]);
        let (client, requests) = client_of_answers(answers).await;
        let client = client.with_retries(Retries::within(PATIENCE));
        let error = client.replay(&bucket(), "1-0".parse().unwrap()).await.unwrap_err();
        assert_eq!(error.problem().map(|problem| problem.status.as_u16()), Some(status), "{error:?}");
        assert_eq!(requests.load(Ordering::Relaxed), 1);
    }
    // What was not stored may be repeated.
    let (client, requests) = client_of_answers(&[
        "HTTP/1.1 503 X\r\n\r\n{\"code\":\"store_unavailable\",\"outcome\":\"not_stored\",\"retry_after_ms\":1}",
        "HTTP/1.1 404 X\r\nContent-Length: 2\r\n\r\n{}",
    ])
    .await;
    let client = client.with_retries(Retries::within(PATIENCE));
    assert!(client.replay(&bucket(), "1-0".parse().unwrap()).await.is_err());
    assert_eq!(requests.load(Ordering::Relaxed), 2);
}

#[tokio::test]
async fn the_time_that_a_server_was_asked_to_wait_leaves_the_retries_theirs() {
    const RETRIES: Duration = Duration::from_secs(4);
    const ENDED: &str = r#"{"id":"1-0","bucket":"b","state":"delivered","attempts":1,"due_at":null,
        "accepted_at":"2030-01-01T00:00:00Z","caller":null,"outcome":null}"#;
    let connections = Arc::new(AtomicU32::new(0));
    let client = client_of(move |mut stream| {
        let first = connections.fetch_add(1, Ordering::Relaxed) == 0;
        async move {
            let _ = stream.read(&mut [0; 4096]).await;
            if first {
                // An intake that is killed while it waits.
                return tokio::time::sleep(RETRIES + SOON).await;
            }
            let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{ENDED}", ENDED.len());
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    })
    .await;
    let client = client.with_retries(Retries::within(RETRIES));
    let job = client.wait(&bucket(), "1-0".parse().unwrap(), PATIENCE).await.unwrap();
    assert!(job.has_ended());
}
