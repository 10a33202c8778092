//! Each setting that can be changed at run time is enforced from then on, also by processes that didn't change it.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::Submission;
use dripfeed_tests::buckets::{
    self, DELIVERED, changed, job, join, open, refused, settle, submit, take, take_one, takes_nothing,
};
use dripfeed_tests::redis_server::TestRedis;
use serde_json::json;

/// Why the second of two submissions by one caller is refused.
async fn second_is_refused(bucket: &Bucket) -> RefusalReason {
    let submission = |body: &str| Submission { caller: Some("shop".to_owned()), ..job(body) };
    submit(bucket, submission("1")).await;
    refused(bucket.admit(submission("2")).await).reason
}

/// How many of three jobs a take returns at once.
async fn taken_at_once(bucket: &Bucket, replica: &Replica) -> usize {
    for n in 0..3 {
        submit(bucket, job(n.to_string())).await;
    }
    let taken = take(replica, 3).await.len();
    assert!(taken == 3 || takes_nothing(replica).await);
    taken
}

/// Submits a job of each of these callers. Returns the callers whose jobs are taken at once.
async fn taken_of(bucket: &Bucket, replica: &Replica, callers: &[&str], most: usize) -> Vec<String> {
    for caller in callers {
        submit(bucket, Submission { caller: Some((*caller).to_owned()), ..job("x") }).await;
    }
    let callers = take(replica, most).await.into_iter().filter_map(|taken| taken.job.ok()?.caller);
    callers.collect()
}

/// Changes the setting, and checks how another process behaves then.
async fn is_enforced(redis: &TestRedis, setting: &RunTimeSetting) {
    let name = setting.name;
    let mut configured = buckets::settings(&name.replace('.', "-"));
    if name == "leak.burst" {
        configured.leak.rate = "1/366d".parse().ok();
    } else if name == "fair.burst" {
        configured.fair.bounds.rate = "1/366d".parse().ok();
    } else if name == "leak.adaptive" {
        configured.leak.rate = "1000/s".parse().ok();
    }
    let (operator, other) = (open(redis, configured.clone()).await, open(redis, configured).await);
    let replica = join(&other, "a").await;
    let change =
        async |value: serde_json::Value| operator.apply_overrides(&changed(name, value)).await.expect("Redis answers");
    match name {
        "capacity" => {
            change(json!(1)).await;
            assert_eq!(second_is_refused(&other).await, RefusalReason::BucketFull);
        }
        "capacity_bytes" => {
            let large = || job("x".repeat(2000));
            submit(&other, large()).await;
            change(json!("3kB")).await;
            assert_eq!(refused(other.admit(large()).await).reason, RefusalReason::BucketFull);
        }
        "max_share" => {
            change(json!("1%")).await;
            assert_eq!(second_is_refused(&other).await, RefusalReason::ShareUsedUp);
        }
        "fair.by" => {
            change(json!("off")).await;
            assert_eq!(taken_of(&other, &replica, &["a", "a", "b"], 2).await, ["a", "a"]);
        }
        "fair.weights" => {
            change(json!({ "b": 1000 })).await;
            assert_eq!(taken_of(&other, &replica, &["a", "a", "b", "b"], 3).await, ["a", "b", "b"]);
        }
        "fair.rate" | "fair.max_in_flight" => {
            change(setting.example.parse().unwrap_or_else(|_| json!("1/366d"))).await;
            let most = if name == "fair.rate" { 1 } else { 2 };
            let taken = taken_of(&other, &replica, &["a", "a", "a", "b"], 4).await;
            assert_eq!(taken.iter().filter(|caller| *caller == "a").count(), most);
            assert!(taken.contains(&"b".to_owned()));
        }
        "fair.burst" => {
            change(json!(2)).await;
            let mut taken = taken_of(&other, &replica, &["a", "a", "a", "b"], 4).await;
            taken.sort();
            assert_eq!(taken, ["a", "a", "b"]);
        }
        "fair.tiers" => {
            change(json!([{ "rate": "1/366d", "burst": 3 }, { "rate": "1/366d", "burst": 2 }])).await;
            let mut taken = taken_of(&other, &replica, &["a", "a", "a", "b"], 4).await;
            taken.sort();
            assert_eq!(taken, ["a", "a", "b"]);
        }
        "fair.flows" => {
            change(json!({ "a": { "paused": true }, "b": { "rate": "1/366d", "burst": 2 }, "c": { "weight": 2 } }))
                .await;
            let mut taken = taken_of(&other, &replica, &["a", "b", "b", "b", "c", "c", "c", "d", "d"], 5).await;
            taken.sort();
            assert_eq!(taken, ["b", "b", "c", "c", "d"]);
        }
        "limits" => {
            change(json!([{ "id": "each", "tiers": [{ "kind": "gate", "period": "1d" }] }])).await;
            assert_eq!(second_is_refused(&other).await, RefusalReason::CallerLimit);
        }
        "leak.rate" => {
            change(json!("1/366d")).await;
            assert_eq!(taken_at_once(&other, &replica).await, 1);
        }
        "leak.burst" => {
            change(json!(2)).await;
            assert_eq!(taken_at_once(&other, &replica).await, 2);
        }
        "leak.tiers" => {
            change(json!([{ "kind": "fixed", "limit": 2, "period": "366d", "align": "first" }])).await;
            assert_eq!(taken_at_once(&other, &replica).await, 2);
        }
        "leak.adaptive" => {
            change(json!(false)).await;
            submit(&other, job("1")).await;
            settle(&replica, take_one(&replica).await, Settlement::Throttled { wait: Some(Duration::ZERO) }).await;
            assert_eq!(other.census().await.expect("Redis answers").pace.effective_per_s, Some(1000.0));
        }
        "leak.concurrency" => {
            change(json!(7)).await;
            submit(&other, job("1")).await;
            settle(&replica, take_one(&replica).await, DELIVERED).await;
            assert_eq!(replica.concurrency(), 7);
        }
        "leak.max_in_flight" => {
            change(json!(2)).await;
            assert_eq!(taken_at_once(&other, &replica).await, 2);
        }
        _ => panic!("show here that {name} is enforced"),
    }
}

#[tokio::test]
async fn every_run_time_setting_is_enforced_once_it_is_changed() {
    let redis = TestRedis::start().await;
    for setting in &RUN_TIME_SETTINGS {
        is_enforced(&redis, setting).await;
    }
}

#[tokio::test]
async fn a_configured_limit_is_lifted_until_it_is_restored() {
    let redis = TestRedis::start().await;
    let mut configured = buckets::settings("b");
    configured.max_share = "1%".parse().ok();
    configured.leak.rate = "1/366d".parse().ok();
    configured.leak.max_in_flight = Some(1);
    configured.fair.bounds.rate = "1/366d".parse().ok();
    configured.fair.bounds.max_in_flight = Some(1);
    let (operator, other) = (open(&redis, configured.clone()).await, open(&redis, configured.clone()).await);
    let replica = join(&other, "a").await;
    let all = |value: serde_json::Value| {
        let limits = ["max_share", "leak.rate", "leak.max_in_flight", "fair.rate", "fair.max_in_flight"];
        limits.map(|name| changed(name, value.clone())).into_iter().fold(Overrides::default(), Overrides::and)
    };
    operator.apply_overrides(&all(json!(NO_LIMIT))).await.expect("Redis answers");
    assert_eq!(taken_at_once(&other, &replica).await, 3);
    // A process that starts later reads the change from Redis.
    let late = open(&redis, configured.clone()).await.census().await.expect("Redis answers");
    assert_eq!((late.overrides, late.settings.leak.rate, late.max_share), (all(json!(NO_LIMIT)), None, None));
    operator.apply_overrides(&all(json!(null))).await.expect("Redis answers");
    assert_eq!(other.census().await.expect("Redis answers").settings.leak, configured.leak);
}
