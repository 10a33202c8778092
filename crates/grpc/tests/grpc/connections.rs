use dripfeed_grpc::proto::ShouldForwardsRequestRequest;
use dripfeed_grpc::proto::rate_limiter_client::RateLimiterClient;
use dripfeed_intake::{Tls, TlsIdentity};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tonic::Code;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint};

use crate::stage::{HEAD_TIMEOUT, PATIENCE, Stage, refused};

fn asked() -> ShouldForwardsRequestRequest {
    ShouldForwardsRequestRequest { service: "shop".to_owned(), ..ShouldForwardsRequestRequest::default() }
}

#[tokio::test]
async fn calls_are_answered_over_tls_and_not_in_clear_text() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let identity = TlsIdentity::from_pem(&made.cert.pem(), &made.signing_key.serialize_pem()).unwrap();
    let stage = Stage::with(Vec::new(), Some(Tls::new(identity))).await;
    let trusted =
        ClientTlsConfig::new().ca_certificate(Certificate::from_pem(made.cert.pem())).domain_name("localhost");
    let endpoint = Endpoint::from_shared(format!("https://{}", stage.address)).unwrap().tls_config(trusted).unwrap();
    let mut client = RateLimiterClient::new(endpoint.connect().await.unwrap());
    refused(client.should_forward_request(asked()).await, Code::NotFound);
    let clear = Endpoint::from_shared(format!("http://{}", stage.address)).unwrap();
    let answered = match clear.connect().await {
        Ok(channel) => RateLimiterClient::new(channel).should_forward_request(asked()).await.is_ok(),
        Err(_) => false,
    };
    assert!(!answered, "answered in clear text");
}

#[tokio::test]
async fn who_says_nothing_is_let_go_and_who_is_idle_stays() {
    let stage = Stage::set().await;
    let mut idle = stage.limiter().await;
    let mut silent = TcpStream::connect(stage.address).await.unwrap();
    let mut old = TcpStream::connect(stage.address).await.unwrap();
    old.write_all(b"GET / HTTP/1.1\r\nhost: a\r\n\r\n").await.unwrap();
    for stream in [&mut silent, &mut old] {
        let closed = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut Vec::new())).await;
        closed.expect("it is let go").unwrap_or_default();
    }
    // The pings that keep it are answered by the client itself.
    tokio::time::sleep(HEAD_TIMEOUT * 3).await;
    refused(idle.should_forward_request(asked()).await, Code::NotFound);
}

#[tokio::test]
async fn at_the_stop_the_last_calls_are_answered() {
    let stage = Stage::set().await;
    stage.register(json!({ "policies": [] })).await;
    let mut client = stage.limiter().await;
    assert!(client.should_forward_request(asked()).await.unwrap().into_inner().should_forward);
    stage.stop.cancel();
    // A connection that is kept gets an answer still.
    refused(client.should_forward_request(ShouldForwardsRequestRequest::default()).await, Code::InvalidArgument);
    tokio::time::timeout(PATIENCE, stage.serving).await.expect("serve returns").unwrap().unwrap();
    client.should_forward_request(asked()).await.unwrap_err();
}
