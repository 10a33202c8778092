//! A deletion that its process didn't bring to an end: a bucket whose deletion wasn't decided is used again a minute
//! later by whatever comes first, and one whose deletion was decided never.

use std::collections::BTreeMap;

use dripfeed_bucket::Kind;
use dripfeed_tests::redis_fault_proxy::ProxyFault;

use super::deletions::{Deletions, suspended_for};
use super::*;

/// Operations that may be the first to use such a bucket.
const OPERATIONS: [(Method, &str, &str); 10] = [
    (Method::PATCH, "/v1/buckets/b?dry_run=true", r#"{"leak":{"concurrency":3}}"#),
    (Method::PATCH, "/v1/buckets/b", r#"{"leak":{"concurrency":3}}"#),
    (Method::POST, "/v1/buckets/b/pause", ""),
    (Method::POST, "/v1/buckets/b/resume", ""),
    (Method::POST, "/v1/buckets/b/dead/FIRST/replay", ""),
    (Method::POST, "/v1/buckets/b/dead/SECOND/edit", "x"),
    (Method::POST, "/v1/buckets/b/dead/replay", ""),
    (Method::GET, "/v1/buckets/b/settings", ""),
    (Method::GET, "/v1/buckets/b/flows", ""),
    (Method::GET, "/v1/scale?bucket=b", ""),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_operation_uses_a_bucket_whose_deletion_was_abandoned() {
    let upstream = Upstream::start(|_| async { dripfeed_tests::upstream::Answer::Status(404) }).await;
    let deletions = Deletions::start(&upstream, Kind::Stream).await;
    deletions.created().await;
    let client = deletions.other.client();
    let processor = deletions.service.processor().await;
    for _ in 0..3 {
        assert_eq!(submit(&client, "b").await.status, 202);
    }
    until("its jobs are dead", async || get(&client, "/v1/buckets/b").await.number("dead") == 3).await;
    drop(processor);
    let letters = get(&client, "/v1/buckets/b/dead").await.json();
    let id = |letter: usize| letters["items"][letter]["id"].as_str().expect("an id").to_owned();
    for (method, path, body) in OPERATIONS {
        let path = path.replace("FIRST", &id(0)).replace("SECOND", &id(1));
        deletions.proxy.plan("begin_deletion", ProxyFault::Drop, 1);
        assert_eq!(delete(&deletions.deleting.client(), "b?purge=true").await.status, 503);
        let call = async || client.call(client.request(method.clone(), &path), body).await.expect("an answer");
        let control =
            async || deletions.service.redis::<BTreeMap<String, String>>("HGETALL dripfeed:{b}:control").await;
        let before = control().await;
        let suspended = call().await;
        assert_eq!((suspended.status, suspended.text("code").as_str()), (503, "store_unavailable"), "{suspended:?}");
        assert_eq!(control().await, before, "{method} {path} has changed something");
        suspended_for(&deletions, 60_000).await;
        let used = call().await;
        assert!([200, 202].contains(&used.status), "{method} {path}: {used:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn jobs_of_a_bucket_whose_deletion_was_abandoned_start_processors() {
    let upstream = Upstream::willing().await;
    let deletions = Deletions::start(&upstream, Kind::Stream).await;
    deletions.created().await;
    let client = deletions.other.client();
    assert_eq!(submit(&client, "b").await.status, 202);
    deletions.proxy.plan("begin_deletion", ProxyFault::Drop, 1);
    assert_eq!(delete(&deletions.deleting.client(), "b?purge=true").await.status, 503);
    let slots = async || get(&client, "/v1/scale?bucket=*").await.number("slots");
    assert_eq!(slots().await, 0);
    suspended_for(&deletions, 60_000).await;
    assert_eq!(slots().await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_whose_deletion_was_decided_stays_deleted_for_more_than_a_day() {
    let upstream = Upstream::willing().await;
    let deletions = Deletions::start(&upstream, Kind::Stream).await;
    deletions.created().await;
    deletions.proxy.plan("delete_definition", ProxyFault::Drop, 1);
    assert_eq!(delete(&deletions.deleting.client(), "b").await.status, 503);
    // What the TTL of a day does.
    assert_eq!(deletions.service.redis::<u64>("DEL dripfeed:{b}:control").await, 1);
    for intake in [&deletions.other, &deletions.deleting] {
        assert_eq!(submit(&intake.client(), "b").await.status, 404);
        assert_eq!(get(&intake.client(), "/v1/buckets").await.json()["items"], json!([]));
    }
    deletions.created().await;
    assert_eq!(submit(&deletions.other.client(), "b").await.status, 202);
}
