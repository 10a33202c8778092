use dripfeed_grpc::proto::rate_limiter_client::RateLimiterClient;
use dripfeed_grpc::proto::{RegisterServiceRequest, ShouldForwardsRequestRequest};
use tonic::transport::Endpoint;

use crate::program::{Running, dripfeed, redis};

// The client goes on while the test waits for the end of the process.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_intake_takes_grpc_where_it_is_told_to() {
    let (_folder, redis) = redis(&[]).await;
    let url = format!("redis.url={}", redis.url());
    let ports = ["--set", "intake.listen=127.0.0.1:0", "--set", "grpc.listen=127.0.0.1:0"];
    let intake = Running::start(dripfeed(&["intake", "--set", &url]).args(ports));
    let line = intake.says("listening on grpc://");
    let address = line.split("grpc://").nth(1).unwrap().split('"').next().unwrap();
    let channel = Endpoint::from_shared(format!("http://{address}")).unwrap().connect().await.unwrap();
    let mut client = RateLimiterClient::new(channel);
    let rules = r#"{"policies":[{"id":"all","tiers":[{"kind":"gate","period":"1h"}],"on_store_error":"local"}]}"#;
    let registration = RegisterServiceRequest {
        service: "shop".to_owned(),
        rules: rules.to_owned(),
        ..RegisterServiceRequest::default()
    };
    client.register_service(registration).await.unwrap();
    let asked = ShouldForwardsRequestRequest { service: "shop".to_owned(), ..ShouldForwardsRequestRequest::default() };
    assert!(client.should_forward_request(asked).await.unwrap().into_inner().should_forward);
    assert_eq!(intake.end(), Some(0));
}
