//! Calls to upstreams that behave badly, each a real server on loopback.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Request;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use super::*;
use crate::upstream::connector::Connector;
use crate::upstream::root_certs::RootCerts;
use crate::upstream::{Upstream, UpstreamSettings, tests::settings};

const BOUNDS: CallBounds = CallBounds { time: Duration::from_secs(5), read: 100_000, kept: 10 };
const SOON: Duration = Duration::from_millis(200);

/// An upstream that treats each connection as `behave` does, and counts them.
struct Server {
    url: String,
    connections: Arc<AtomicUsize>,
    /// One permit for each connection that `behave` is done with.
    done: Arc<Semaphore>,
}

impl Server {
    async fn start<F, B>(behave: F) -> Self
    where
        F: Fn(TcpStream) -> B + Send + 'static,
        B: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let (connections, done) = (Arc::new(AtomicUsize::new(0)), Arc::new(Semaphore::new(0)));
        let (counted, finished) = (Arc::clone(&connections), Arc::clone(&done));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counted.fetch_add(1, Ordering::SeqCst);
                let (one, finished) = (behave(stream), Arc::clone(&finished));
                tokio::spawn(async move {
                    one.await;
                    finished.add_permits(1);
                });
            }
        });
        Self { url, connections, done }
    }

    /// Answers the first request of each connection with `bytes`, then closes.
    async fn saying(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes = Arc::new(bytes.into());
        Self::start(move |mut stream| {
            let bytes = Arc::clone(&bytes);
            async move {
                read_head(&mut stream).await;
                let _ = stream.write_all(&bytes).await;
            }
        })
        .await
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    async fn until_done(&self) {
        self.done.acquire().await.unwrap().forget();
    }
}

/// Reads a request up to its end; the requests of these tests have no body.
async fn read_head(stream: &mut TcpStream) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read_exact(&mut byte).await.is_err() {
            return;
        }
        head.push(byte[0]);
    }
}

fn client(upstream: UpstreamSettings) -> HttpClient {
    Connector::new().unwrap().client(&Upstream::new(upstream).unwrap())
}

async fn call_with(client: &HttpClient, url: &str, bounds: CallBounds) -> CallResult {
    let request = Request::post(url).body(Full::default()).unwrap();
    call(client, request, bounds).await.unwrap()
}

async fn call_at(url: &str, bounds: CallBounds) -> CallResult {
    call_with(&client(settings(url)), url, bounds).await
}

fn status(called: &CallResult) -> u16 {
    called.answer.status().unwrap_or_else(|| panic!("{called:?}"))
}

fn why(called: &CallResult) -> &str {
    match &called.answer {
        UpstreamAnswer::Nothing { why, .. } => why,
        UpstreamAnswer::Status { .. } => panic!("{called:?}"),
    }
}

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
        let begun = Instant::now();
        let called = call_at(&server.url, CallBounds { time: SOON, ..BOUNDS }).await;
        assert_eq!((why(&called), called.class), ("no whole answer within 200ms", "timeout"));
        assert!(begun.elapsed() < SOON * 50);
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
    assert!(why(&called).contains("private addresses only"), "{called:?}");
    assert_eq!(server.connections(), 0);
}

#[tokio::test]
async fn a_tls_upstream_that_does_not_speak_tls_is_not_reached() {
    let server = Server::start(|mut stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    })
    .await;
    let called = call_at(&server.url.replace("http", "https"), BOUNDS).await;
    assert_eq!(called.class, "connect", "{called:?}");
}

/// An authority, and what it certifies.
struct Authority {
    certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        Self { certificate, issuer: Issuer::new(params, key) }
    }

    /// An upstream of that name, until that year; and how many requests it got.
    async fn certified(&self, name: &str, until: i32) -> (Server, Arc<AtomicUsize>) {
        let mut params = CertificateParams::new([name.to_owned()]).unwrap();
        params.not_after = rcgen::date_time_ymd(until, 1, 1);
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let _ = ring::default_provider().install_default();
        let served = ServerConfig::builder().with_no_client_auth();
        let acceptor =
            TlsAcceptor::from(Arc::new(served.with_single_cert(vec![certificate.der().clone()], key).unwrap()));
        let requests = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&requests);
        let server = Server::start(move |stream| {
            let (acceptor, counted) = (acceptor.clone(), Arc::clone(&counted));
            async move {
                let Ok(mut stream) = acceptor.accept(stream).await else { return };
                if stream.read(&mut [0; 1024]).await.is_ok_and(|bytes| bytes > 0) {
                    counted.fetch_add(1, Ordering::SeqCst);
                    let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
                }
            }
        })
        .await;
        (server, requests)
    }

    async fn calls(&self, server: &Server, root_certs: RootCerts) -> CallResult {
        let url = server.url.replace("http://127.0.0.1", "https://localhost");
        let client = client(UpstreamSettings { root_certs, ..settings(&url) });
        call_with(&client, &url, BOUNDS).await
    }

    fn root_certs(&self) -> RootCerts {
        RootCerts::only(&self.certificate.pem()).unwrap()
    }
}

const YET: i32 = 4000;
const PAST: i32 = 2020;

#[tokio::test]
async fn only_an_upstream_with_a_trusted_certificate_of_its_name_gets_the_request() {
    let (ours, other) = (Authority::new(), Authority::new());
    let (server, requests) = ours.certified("localhost", YET).await;
    for root_certs in [RootCerts::default(), other.root_certs()] {
        let called = ours.calls(&server, root_certs).await;
        assert!(why(&called).contains("invalid peer certificate"), "{called:?}");
        assert!(why(&called).contains("`upstream_ca_file`"), "{called:?}");
    }
    assert_eq!(requests.load(Ordering::SeqCst), 0);
    assert_eq!(status(&ours.calls(&server, ours.root_certs()).await), 200);
    let both = [ours.certificate.pem(), other.certificate.pem()].concat();
    assert_eq!(status(&ours.calls(&server, RootCerts::only(&both).unwrap()).await), 200);

    for (name, until, remedy) in [
        ("elsewhere.example", YET, "call the upstream by a name that its certificate holds"),
        ("localhost", PAST, "its owner must renew it"),
    ] {
        let (server, requests) = ours.certified(name, until).await;
        let called = ours.calls(&server, ours.root_certs()).await;
        assert!(why(&called).contains(remedy), "{called:?}");
        assert_eq!(requests.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test]
async fn connecting_has_its_own_time_limit() {
    // Accepts, and never says a word of TLS.
    let server =
        Server::start(|mut stream| async move { while stream.read(&mut [0; 64]).await.is_ok_and(|n| n > 0) {} }).await;
    let url = server.url.replace("http", "https");
    let hurried = client(UpstreamSettings { connect_timeout: SOON, ..settings(&url) });
    let called = call_with(&hurried, &url, BOUNDS).await;
    assert_eq!(why(&called), "the upstream can't be reached: no connection in time");
    server.until_done().await;
}

#[tokio::test]
async fn an_upstream_that_closes_a_quiet_connection_costs_no_attempt() {
    let server = Server::saying("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
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
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await;
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
async fn a_quota_that_is_used_up_is_read_from_any_answer_and_all_its_lines() {
    for (headers, wait) in [
        ("RateLimit: \"a\";r=0;t=10\r\n", Some(10)),
        ("RateLimit: \"a\";r=3;t=10\r\nRateLimit: \"b\";r=0;t=20\r\n", Some(20)),
        ("RateLimit: limit=10, remaining=0, reset=7\r\n", None),
        ("RateLimit: \"a\";r=0;t=10\r\nRateLimit: \u{e9}\r\n", Some(10)),
        ("", None),
    ] {
        for status in ["200 OK", "429 Too Many Requests"] {
            let answer = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: 0\r\n\r\n");
            let called = call_at(&Server::saying(answer).await.url, BOUNDS).await;
            assert_eq!(called.answer.exhausted_for(), wait.map(Duration::from_secs), "{headers}");
        }
    }
}

#[tokio::test]
async fn a_wish_to_wait_is_read_by_the_upstreams_own_clock() {
    for (headers, wait) in [
        ("Retry-After: 7\r\n", Some(7)),
        ("Date: Sun, 06 Nov 1994 08:49:27 GMT\r\nRetry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n", Some(10)),
        ("Retry-After: Sun, 06 Nov 1994 08:49:37 GMT\r\n", Some(0)),
        ("Retry-After: -1\r\n", None),
        ("", None),
    ] {
        let answer = format!("HTTP/1.1 429 Too Many Requests\r\n{headers}Content-Length: 0\r\n\r\n");
        let called = call_at(&Server::saying(answer).await.url, BOUNDS).await;
        let retry_after = wait.map(Duration::from_secs);
        assert_eq!(
            called.answer,
            UpstreamAnswer::Status { status: 429, retry_after, exhausted_for: None, no_retry: false },
            "{headers}"
        );
        assert_eq!(called.class, "429");
    }
}

#[tokio::test]
async fn an_upstream_can_ask_for_no_retry() {
    let answer = "HTTP/1.1 500 Oops\r\nDripfeed-No-Retry: 1\r\nContent-Length: 0\r\n\r\n";
    let called = call_at(&Server::saying(answer).await.url, BOUNDS).await;
    assert_eq!(
        called.answer,
        UpstreamAnswer::Status { status: 500, retry_after: None, exhausted_for: None, no_retry: true }
    );
}
