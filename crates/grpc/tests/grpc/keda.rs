use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dripfeed_auth::{BucketSet, Scope};
use dripfeed_grpc::external_scaler::external_scaler_client::ExternalScalerClient;
use dripfeed_grpc::external_scaler::{GetMetricsRequest, IsActiveResponse, ScaledObjectRef};
use dripfeed_tests::buckets::{DELIVERED, job, join, settle, submit, take_one};
use futures::future::join_all;
use tonic::transport::Channel;
use tonic::{Code, Streaming};

use crate::harness::{Harness, PATIENCE, key, refused};

/// As KEDA passes on the metadata of a trigger.
fn trigger(metadata: &[(&str, &str)]) -> ScaledObjectRef {
    let scaler_metadata = metadata.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    ScaledObjectRef { scaler_metadata }
}

async fn client(harness: &Harness) -> ExternalScalerClient<Channel> {
    ExternalScalerClient::new(harness.channel().await)
}

async fn next(stream: &mut Streaming<IsActiveResponse>) -> Option<bool> {
    let answer = tokio::time::timeout(PATIENCE, stream.message()).await.expect("an answer").unwrap();
    answer.map(|answer| answer.result)
}

#[tokio::test]
async fn keda_is_told_as_many_processors_as_there_is_work_for() {
    let harness = Harness::start().await;
    let (mut client, bucket) = (client(&harness).await, harness.buckets.get("b").unwrap());
    let asked = trigger(&[("bucket", "b"), ("scalerAddress", "dripfeed-intake:7183")]);
    let spec = client.get_metric_spec(asked.clone()).await.unwrap().into_inner().metric_specs;
    assert_eq!((spec[0].metric_name.as_str(), spec[0].target_size), ("replicas", 1));
    assert!(!client.is_active(asked.clone()).await.unwrap().into_inner().result);
    for _ in 0..21 {
        submit(&bucket, job("x")).await;
    }
    assert!(client.is_active(asked.clone()).await.unwrap().into_inner().result);
    let request = GetMetricsRequest { scaled_object_ref: Some(asked) };
    let metrics = client.get_metrics(request).await.unwrap().into_inner().metric_values;
    assert_eq!((metrics[0].metric_name.as_str(), metrics[0].metric_value), ("replicas", 3));
}

#[tokio::test]
async fn a_bucket_that_was_created_elsewhere_a_moment_ago_is_found() {
    let harness = Harness::start().await;
    let mut client = client(&harness).await;
    let asked = trigger(&[("bucket", "new")]);
    assert!(!client.is_active(asked.clone()).await.unwrap().into_inner().result);
    submit(&harness.buckets.get("new").unwrap(), job("x")).await;
    assert!(client.is_active(asked).await.unwrap().into_inner().result);
}

#[tokio::test]
async fn a_stream_says_when_there_is_work_and_when_there_is_none() {
    let harness = Harness::start().await;
    let (mut client, bucket) = (client(&harness).await, harness.buckets.get("b").unwrap());
    let mut stream = client.stream_is_active(trigger(&[("bucket", "*")])).await.unwrap().into_inner();
    assert_eq!(next(&mut stream).await, Some(false));
    submit(&bucket, job("x")).await;
    assert_eq!(next(&mut stream).await, Some(true));
    let replica = join(&bucket, "a").await;
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    assert_eq!(next(&mut stream).await, Some(false));
    // And it doesn't keep the intake from ending.
    harness.stop.cancel();
    assert_eq!(next(&mut stream).await, None);
    tokio::time::timeout(PATIENCE, harness.serving).await.expect("it ends").unwrap().unwrap();
}

#[tokio::test]
async fn a_trigger_needs_a_key_that_may_read_its_bucket() {
    let mut other = key("other", &[Scope::Read]);
    other.buckets = BucketSet::Named(["nope".parse().unwrap()].into());
    let harness =
        Harness::with(vec![key("reader", &[Scope::Read]), key("sender", &[Scope::Submit]), other], None).await;
    let mut client = client(&harness).await;
    for (metadata, code) in [
        (vec![("bucket", "b")], Code::Unauthenticated),
        (vec![("bucket", "b"), ("keyFromEnv", "wrong")], Code::Unauthenticated),
        (vec![("bucket", "b"), ("keyFromEnv", "a\nb")], Code::Unauthenticated),
        (vec![("bucket", "b"), ("keyFromEnv", "sender")], Code::PermissionDenied),
        (vec![("bucket", "b"), ("keyFromEnv", "other")], Code::PermissionDenied),
        (vec![("bucket", "nope"), ("keyFromEnv", "reader")], Code::NotFound),
        (vec![("keyFromEnv", "reader")], Code::InvalidArgument),
    ] {
        let asked = trigger(&metadata);
        refused(client.is_active(asked.clone()).await, code);
        refused(client.get_metric_spec(asked.clone()).await, code);
        refused(client.stream_is_active(asked.clone()).await, code);
        refused(client.get_metrics(GetMetricsRequest { scaled_object_ref: Some(asked) }).await, code);
    }
    let asked = trigger(&[("bucket", "b"), ("keyFromEnv", "reader")]);
    assert!(!client.is_active(asked.clone()).await.unwrap().into_inner().result);
    // A key that is revoked ends the stream.
    let mut stream = client.stream_is_active(asked).await.unwrap().into_inner();
    assert_eq!(next(&mut stream).await, Some(false));
    harness.keys.replace([key("another", &[Scope::Read])]);
    let ended = tokio::time::timeout(PATIENCE, stream.message()).await.expect("an answer");
    assert_eq!(ended.unwrap_err().code(), Code::Unauthenticated);
}

#[tokio::test]
async fn one_callers_streams_leave_room_for_those_of_others() {
    let harness = Harness::with(vec![key("one", &[Scope::Read]), key("other", &[Scope::Read])], None).await;
    let mut client = client(&harness).await;
    let [one, other] = ["one", "other"].map(|key| trigger(&[("bucket", "b"), ("keyFromEnv", key)]));
    let mut open = Vec::new();
    let full = loop {
        match client.stream_is_active(one.clone()).await {
            Ok(stream) => open.push(stream),
            Err(status) => break status,
        }
        assert!(open.len() < 1000, "there is a bound");
    };
    assert_eq!(full.code(), Code::ResourceExhausted, "{full:?}");
    let mut stream = client.stream_is_active(other).await.unwrap().into_inner();
    assert_eq!(next(&mut stream).await, Some(false));
    drop(open.pop());
    while client.stream_is_active(one.clone()).await.is_err() {}
}

/// However many requests one caller sends at once, those of others wait behind few of them.
#[tokio::test]
async fn one_callers_requests_leave_redis_to_others() {
    const MANY: usize = 40;
    let harness = Harness::with(vec![key("one", &[Scope::Read]), key("other", &[Scope::Read])], None).await;
    let client = client(&harness).await;
    let answered = Arc::new(AtomicUsize::new(0));
    let ask = |key: &str| {
        let scaled_object_ref = Some(trigger(&[("bucket", "*"), ("keyFromEnv", key)]));
        let (mut client, answered) = (client.clone(), Arc::clone(&answered));
        tokio::spawn(async move {
            client.get_metrics(GetMetricsRequest { scaled_object_ref }).await.unwrap();
            answered.fetch_add(1, Ordering::Relaxed)
        })
    };
    // They go over one connection, in this order.
    let flood: Vec<_> = (0..MANY).map(|_| ask("one")).collect();
    let before = ask("other").await.unwrap();
    assert!(before < MANY / 2, "behind {before} of {MANY}");
    join_all(flood).await;
}
