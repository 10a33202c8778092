#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use dripfeed_job::UpstreamAnswer;
use dripfeed_outbound::HttpClient;
use http::Request;
use http_body_util::Full;
use rustls::crypto::ring;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::*;
use crate::call::{CallBounds, CallResult, call};
use crate::upstream::UpstreamSettings;
use crate::upstream::tests::settings;

/// An address that leaves who connects without an answer, as one behind a firewall does: its queue is full.
struct Silent(#[expect(dead_code, reason = "closed when dropped")] (TcpListener, Vec<Connecting>));

type Connecting = Pin<Box<dyn Future<Output = io::Result<TcpStream>>>>;

impl Silent {
    async fn at(address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(address).unwrap();
        let listener = socket.listen(1).unwrap();
        // On this machine who finds room in a queue is in it when the call that begins to connect returns.
        let mut queued: Vec<Connecting> = (0..8).map(|_| Box::pin(TcpStream::connect(address)) as Connecting).collect();
        for connecting in &mut queued {
            let _ = futures::poll!(connecting);
        }
        Self((listener, queued))
    }
}

/// Calls an upstream whose name has these addresses, within `time`, of which connecting may take `connect_timeout`.
async fn call_one_of(addresses: Vec<SocketAddr>, time: Duration, connect_timeout: Duration) -> CallResult {
    let (name, port) = ("upstream.example", addresses[0].port());
    let names = Names::default();
    names.know(name.parse().unwrap(), addresses);
    let url = format!("http://{name}:{port}/");
    let limited = UpstreamSettings { timeout: time, connect_timeout, ..settings(&url) };
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let tls = tls.with_safe_default_protocol_versions().unwrap();
    let dial = dial(tls, &Reach::of(&Upstream::new(limited).unwrap()), names);
    let client = HttpClient::new(Arc::new(dial), url.parse().unwrap());
    let request = Request::post(url).body(Full::<Bytes>::default()).unwrap();
    let bounds = CallBounds { timeout: time, read_bytes: 1000, kept_bytes: 1000 };
    call(&client, request, bounds).await.unwrap_or_else(|shortage| panic!("{shortage}"))
}

#[tokio::test]
async fn an_address_that_is_silent_leaves_time_for_the_others() {
    let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let here = server.local_addr().unwrap();
    let silent_at = SocketAddr::new([127, 0, 0, 2].into(), here.port());
    let _silent = Silent::at(silent_at).await;
    tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = server.accept().await {
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
            open.push(stream);
        }
    });
    // Also where the call takes less time than connecting may.
    for (time, connect_timeout) in [(60, 5), (10, 60)] {
        let [time, connect_timeout] = [time, connect_timeout].map(Duration::from_secs);
        let called = call_one_of(vec![silent_at, here], time, connect_timeout).await;
        assert_eq!(called.answer.status(), Some(200), "{time:?}: {called:?}");
    }
}

#[tokio::test]
async fn an_upstream_with_an_address_that_is_silent_and_no_better_one_timed_out() {
    // Nobody else can listen there meanwhile.
    let nobody = TcpSocket::new_v4().unwrap();
    nobody.bind("127.0.0.3:0".parse().unwrap()).unwrap();
    let refusing = nobody.local_addr().unwrap();
    let silent_at = SocketAddr::new([127, 0, 0, 2].into(), refusing.port());
    let _silent = Silent::at(silent_at).await;
    let called = call_one_of(vec![silent_at, refusing], Duration::from_secs(20), Duration::from_secs(5)).await;
    let UpstreamAnswer::Nothing { why, timed_out } = &called.answer else { panic!("{called:?}") };
    assert_eq!((why.as_str(), timed_out), ("can't connect to the upstream: timeout", &true));
}

#[tokio::test]
async fn a_name_of_a_private_address_is_not_connected_to() {
    let name: Name = "localhost".parse().unwrap();
    let names = Names::default();
    let refused = resolve(&names, name.clone(), false).await.unwrap_err();
    assert!(refused.to_string().contains("only private addresses"), "{refused}");
    assert!(resolve(&names, name, true).await.unwrap().count() > 0);
}

#[tokio::test]
async fn a_name_of_a_private_address_is_known_before_it_is_called() {
    for (url, allow_private, is_private) in [
        ("http://localhost:1/", false, true),
        ("http://localhost:1/", true, false),
        ("http://name.invalid/", false, false),
    ] {
        let upstream = Upstream::new(UpstreamSettings { allow_private, ..settings(url) }).unwrap();
        assert_eq!(upstream.has_private_address().await, is_private, "{url}");
    }
}

#[tokio::test]
async fn a_number_that_only_the_resolver_takes_for_an_address_is_checked_as_well() {
    assert!(resolve(&Names::default(), "127.1".parse().unwrap(), false).await.is_err());
}
