use dripfeed_auth::{ApiKey, ApiKeys, DeleteKeyResult, NewKey, PutKeyResult, Scope};
use dripfeed_grpc::external_scaler::ScaledObjectRef;
use dripfeed_grpc::external_scaler::external_scaler_client::ExternalScalerClient;
use dripfeed_grpc::proto::ShouldForwardsRequestRequest;
use dripfeed_store::{Durability, RedisSettings, Store};
use envoy_types::pb::envoy::service::ratelimit::v3::RateLimitRequest;
use tonic::Code;

use crate::harness::{Harness, PATIENCE, key, refused, with_key};

fn platform() -> ApiKey {
    key("platform", &[Scope::Keys, Scope::Submit, Scope::Read])
}

/// The keys as another intake knows them.
async fn elsewhere(harness: &Harness) -> ApiKeys {
    let settings = RedisSettings::new(harness.redis.address(), "dripfeed", Durability::Everysec);
    ApiKeys::new([platform()]).with_registry(Store::connect(&settings).await.unwrap())
}

async fn make(keys: &ApiKeys, id: &str) {
    let key = key(id, &[Scope::Submit, Scope::Read]);
    let new = NewKey { key: &key, not_after_ms: None, known: None, by: "platform", detail: "" };
    assert!(matches!(keys.registry().unwrap().put(&new).await.unwrap(), PutKeyResult::Done(_)));
}

async fn revoke(keys: &ApiKeys, id: &str) {
    keys.follow().await.unwrap();
    let known = keys.run_time_keys()[id].clone();
    assert_eq!(keys.registry().unwrap().delete(&known, "platform").await.unwrap(), DeleteKeyResult::Done);
}

fn forwarding() -> ShouldForwardsRequestRequest {
    ShouldForwardsRequestRequest { service: "shop".to_owned(), ..ShouldForwardsRequestRequest::default() }
}

fn trigger(key: &str) -> ScaledObjectRef {
    let metadata = [("bucket", "b"), ("keyFromEnv", key)];
    ScaledObjectRef { scaler_metadata: metadata.map(|(name, value)| (name.to_owned(), value.to_owned())).into() }
}

#[tokio::test]
async fn a_key_that_was_made_elsewhere_is_valid_at_every_service_until_it_is_revoked() {
    let harness = Harness::with(vec![platform()], None).await;
    let elsewhere = elsewhere(&harness).await;
    let (mut envoy, mut limiter) = (harness.envoy().await, harness.limiter().await);
    let mut scaler = ExternalScalerClient::new(harness.channel().await);
    let asked = RateLimitRequest { domain: "shop".to_owned(), ..RateLimitRequest::default() };
    for id in ["for-envoy", "for-limiter", "for-scaler"] {
        refused(envoy.should_rate_limit(with_key(id, asked.clone())).await, Code::Unauthenticated);
        make(&elsewhere, id).await;
    }
    // Each is asked for by the service that meets it first. What they say next is what they say to any valid key.
    refused(envoy.should_rate_limit(with_key("for-envoy", asked.clone())).await, Code::InvalidArgument);
    refused(limiter.should_forward_request(with_key("for-limiter", forwarding())).await, Code::NotFound);
    let mut stream = scaler.stream_is_active(trigger("for-scaler")).await.unwrap().into_inner();
    assert!(stream.message().await.unwrap().is_some());

    for id in ["for-envoy", "for-limiter", "for-scaler"] {
        revoke(&elsewhere, id).await;
    }
    // The next look of this intake.
    harness.keys.follow().await.unwrap();
    refused(envoy.should_rate_limit(with_key("for-envoy", asked)).await, Code::Unauthenticated);
    refused(limiter.should_forward_request(with_key("for-limiter", forwarding())).await, Code::Unauthenticated);
    let ended = tokio::time::timeout(PATIENCE, stream.message()).await.expect("an answer");
    assert_eq!(ended.unwrap_err().code(), Code::Unauthenticated);
}
