use std::time::Duration;

use dripfeed_grpc::proto::ShouldForwardsRequestRequest;
use dripfeed_grpc::proto::rate_limiter_client::RateLimiterClient;
use dripfeed_http::{Tls, TlsIdentity};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tonic::Code;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint};

use crate::harness::{Harness, PATIENCE, refused};

/// Long enough for a connection that says something, though the machine stands still for a while.
const HEAD_TIMEOUT: Duration = Duration::from_secs(2);

fn asked() -> ShouldForwardsRequestRequest {
    ShouldForwardsRequestRequest { service: "shop".to_owned(), ..ShouldForwardsRequestRequest::default() }
}

#[tokio::test]
async fn a_tls_port_serves_tls_only() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let identity = TlsIdentity::from_pem(&made.cert.pem(), &made.signing_key.serialize_pem()).unwrap();
    let harness = Harness::with(Vec::new(), Some(Tls::new(identity))).await;
    let trusted =
        ClientTlsConfig::new().ca_certificate(Certificate::from_pem(made.cert.pem())).domain_name("localhost");
    let endpoint = Endpoint::from_shared(format!("https://{}", harness.address)).unwrap().tls_config(trusted).unwrap();
    let mut client = RateLimiterClient::new(endpoint.connect().await.unwrap());
    refused(client.should_forward_request(asked()).await, Code::NotFound);
    let clear = Endpoint::from_shared(format!("http://{}", harness.address)).unwrap();
    let answered = match clear.connect().await {
        Ok(channel) => RateLimiterClient::new(channel).should_forward_request(asked()).await.is_ok(),
        Err(_) => false,
    };
    assert!(!answered, "answered in clear text");
}

#[tokio::test]
async fn silent_connections_are_closed_and_idle_ones_stay() {
    let harness = Harness::listening(Vec::new(), None, HEAD_TIMEOUT).await;
    let mut idle = harness.limiter().await;
    let mut silent = TcpStream::connect(harness.address).await.unwrap();
    let mut old = TcpStream::connect(harness.address).await.unwrap();
    old.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    for stream in [&mut silent, &mut old] {
        let closed = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut Vec::new())).await;
        closed.expect("it is let go").unwrap_or_default();
    }
    // The client library answers the keep-alive pings.
    tokio::time::sleep(HEAD_TIMEOUT * 3).await;
    refused(idle.should_forward_request(asked()).await, Code::NotFound);
}

#[tokio::test]
async fn running_calls_finish_at_the_stop() {
    let harness = Harness::start().await;
    harness.register(json!({ "policies": [] })).await;
    let mut client = harness.limiter().await;
    assert!(client.should_forward_request(asked()).await.unwrap().into_inner().should_forward);
    harness.stop.cancel();
    // A kept connection still gets a response.
    refused(client.should_forward_request(ShouldForwardsRequestRequest::default()).await, Code::InvalidArgument);
    tokio::time::timeout(PATIENCE, harness.serving).await.expect("serve returns").unwrap().unwrap();
    client.should_forward_request(asked()).await.unwrap_err();
}

#[tokio::test]
async fn without_keys_an_unknown_host_name_is_refused() {
    let harness = Harness::start().await;
    let endpoint = Endpoint::from_shared(format!("http://{}", harness.address)).unwrap();
    let called = endpoint.clone().origin("http://evil.example".parse().unwrap()).connect().await.unwrap();
    let detail = refused(RateLimiterClient::new(called).should_forward_request(asked()).await, Code::PermissionDenied);
    assert!(detail.contains("intake.hosts"), "{detail}");
    let ours = endpoint.origin("http://localhost".parse().unwrap()).connect().await.unwrap();
    refused(RateLimiterClient::new(ours).should_forward_request(asked()).await, Code::NotFound);
}
