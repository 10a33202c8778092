//! The order of calls.

use std::collections::BTreeMap;

use dripfeed_bucket::*;
use dripfeed_tests::buckets::{DELIVERED, changed, join, settle, submit, take, take_one};
use dripfeed_tests::redis_server::TestRedis;
use serde_json::json;

use super::{call, caller_of, count, counts, flood, of, open};

#[tokio::test]
async fn calls_are_shared_by_weight_for_takes_of_any_size() {
    for most in [1, 7, 50] {
        let redis = TestRedis::start().await;
        let bucket = open(&redis).await;
        bucket.apply_overrides(&changed("fair.weights", json!({ "b": 2, "c": 4 }))).await.unwrap();
        for caller in ["a", "b", "c"] {
            flood(&bucket, caller, 500).await;
        }
        let [one, other] = [join(&bucket, "one").await, join(&bucket, "other").await];
        let mut called = Vec::new();
        while called.len() < 700 {
            let replica = if called.len() % 3 == 0 { &one } else { &other };
            called.extend(call(replica, most, most.min(700 - called.len())).await);
        }
        assert_eq!(count(&called), counts([("a", 100), ("b", 200), ("c", 400)]), "takes of {most}");
        for caller in ["a", "b", "c"] {
            let bodies = called.iter().filter(|(of, _)| of == caller).map(|(_, body)| body.parse::<usize>().unwrap());
            assert!(bodies.eq(0..count(&called)[caller]), "the jobs of {caller} are called in their order");
        }
    }
}

#[tokio::test]
async fn at_no_time_is_one_ahead_of_another_by_more_than_a_call_of_each() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    let weights = [("a", 1.0), ("b", 2.0), ("c", 3.0), ("d", 7.0)];
    bucket.apply_overrides(&changed("fair.weights", json!({ "b": 2, "c": 3, "d": 7 }))).await.unwrap();
    for (caller, _) in weights {
        flood(&bucket, caller, 400).await;
    }
    let replica = join(&bucket, "a").await;
    let mut called = Vec::new();
    while called.len() < 500 {
        called.extend(call(&replica, 13, fastrand::usize(1..=13)).await);
        nobody_is_ahead(&count(&called), &weights.map(|(caller, weight)| (caller.to_owned(), weight)));
    }
}

/// Checks that no caller is ahead of another in calls per weight. All of them must have waiting jobs.
fn nobody_is_ahead(counts: &BTreeMap<String, usize>, weights: &[(String, f64)]) {
    let of = |caller: &str| f64::from(u32::try_from(counts.get(caller).copied().unwrap_or(0)).unwrap());
    for (one, weight) in weights {
        for (other, of_other) in weights {
            let ahead = of(one) / weight - of(other) / of_other;
            assert!(ahead <= 1.0 / weight + 1.0 / of_other + 1e-3, "{one} is {ahead} ahead of {other}: {counts:?}");
        }
    }
}

#[tokio::test]
async fn none_of_more_callers_than_a_take_has_calls_is_ahead_of_another() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    // The first and the last callers are heavy: a take of a few calls doesn't reach the last one.
    let weight = |n| if n % 39 < 2 { 20_u16 } else { 1 };
    let weights: Vec<_> = (0..40_u16).map(|n| (format!("c{n:02}"), weight(n))).collect();
    let set: serde_json::Map<_, _> =
        weights.iter().map(|(caller, weight)| (caller.clone(), (*weight).into())).collect();
    bucket.apply_overrides(&changed("fair.weights", serde_json::Value::from(set))).await.unwrap();
    for (caller, weight) in &weights {
        flood(&bucket, caller, 20 * usize::from(*weight)).await;
    }
    let weights: Vec<_> = weights.into_iter().map(|(caller, weight)| (caller, f64::from(weight))).collect();
    let replica = join(&bucket, "a").await;
    let mut called = Vec::new();
    while called.len() < 1200 {
        called.extend(call(&replica, 50, fastrand::usize(1..=50)).await);
        nobody_is_ahead(&count(&called), &weights);
    }
}

#[tokio::test]
async fn none_that_has_as_many_calls_under_way_as_it_may_is_ahead_of_another() {
    let redis = TestRedis::start().await;
    for (most, taken) in [(1, 1), (2, 3)] {
        for names in [["a", "b"], ["c", "d"], ["e", "f"]] {
            redis.ask::<()>("FLUSHALL").await;
            let bucket = open(&redis).await;
            bucket.apply_overrides(&changed("fair.max_in_flight", json!(most))).await.unwrap();
            for caller in names {
                flood(&bucket, caller, 100).await;
            }
            let replica = join(&bucket, "one").await;
            let mut called = Vec::new();
            while called.len() < 60 {
                called.extend(call(&replica, taken, taken).await);
                nobody_is_ahead(&count(&called), &names.map(|caller| (caller.to_owned(), 1.0)));
            }
        }
    }
}

#[tokio::test]
async fn none_that_was_paused_is_ahead_of_another() {
    let redis = TestRedis::start().await;
    // Both have their turn at the same time, so either may be first.
    for names in [["a", "b"], ["b", "a"]] {
        redis.ask::<()>("FLUSHALL").await;
        let bucket = open(&redis).await;
        for caller in names {
            flood(&bucket, caller, 200).await;
        }
        let (replica, of_one) = (join(&bucket, "one").await, names[0]);
        let paused = |paused| changed("fair.flows", json!({ of_one: { "paused": paused } }));
        let mut called = Vec::new();
        for _ in 0..20 {
            while called.last().is_none_or(|(caller, _)| caller != of_one) {
                called.extend(call(&replica, 1, 1).await);
            }
            bucket.apply_overrides(&paused(true)).await.unwrap();
            called.extend(call(&replica, 1, 1).await);
            bucket.apply_overrides(&paused(false)).await.unwrap();
            called.extend(call(&replica, 1, 2).await);
        }
        nobody_is_ahead(&count(&called), &names.map(|caller| (caller.to_owned(), 1.0)));
    }
}

#[tokio::test]
async fn one_job_behind_ten_thousand_is_called_after_at_most_one_of_each_caller() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    flood(&bucket, "flooder", 10_000).await;
    let replica = join(&bucket, "a").await;
    call(&replica, 10, 30).await;
    let quiet = submit(&bucket, of("quiet", "x")).await;
    assert!(take(&replica, 2).await.iter().any(|taken| taken.claim.id() == quiet.id));
}

#[tokio::test]
async fn coming_and_going_gains_nothing() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    for n in 0..9 {
        flood(&bucket, &format!("backlog {n}"), 200).await;
    }
    let replica = join(&bucket, "a").await;
    submit(&bucket, of("comes and goes", "x")).await;
    let mut calls = 0;
    for _ in 0..400 {
        let taken = take_one(&replica).await;
        let again = caller_of(&taken) == "comes and goes";
        settle(&replica, taken, DELIVERED).await;
        if again {
            calls += 1;
            submit(&bucket, of("comes and goes", "x")).await;
        }
    }
    assert_eq!(calls, 40);
}

#[tokio::test]
async fn large_jobs_take_turns_with_small_ones() {
    let redis = TestRedis::start().await;
    let settings = BucketSettings { capacity: 1000, capacity_bytes: 1 << 30, ..super::buckets::settings("b") };
    let bucket = super::buckets::open(&redis, settings).await;
    for _ in 0..8 {
        submit(&bucket, of("large", "x".repeat(1 << 20))).await;
    }
    flood(&bucket, "small", 100).await;
    let replica = join(&bucket, "a").await;
    let called = call(&replica, 20, 14).await;
    assert_eq!(count(&called), counts([("large", 7), ("small", 7)]));
}

#[tokio::test]
async fn a_change_of_weights_reaches_what_is_queued() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    flood(&bucket, "a", 200).await;
    flood(&bucket, "b", 200).await;
    let other = open(&redis).await;
    let replica = join(&other, "a").await;
    assert_eq!(count(&call(&replica, 5, 20).await), counts([("a", 10), ("b", 10)]));
    bucket.apply_overrides(&changed("fair.weights", json!({ "b": 4 }))).await.unwrap();
    assert_eq!(count(&call(&replica, 5, 50).await), counts([("a", 10), ("b", 40)]));
    bucket.apply_overrides(&changed("fair.by", "off")).await.unwrap();
    // The jobs in flows are called first. Then all wait in one line.
    let rest = call(&replica, 5, 330).await;
    assert_eq!(count(&rest), counts([("a", 180), ("b", 150)]));
    assert!(super::buckets::takes_nothing(&replica).await);
    assert_eq!(redis.ask::<u64>("EXISTS dripfeed:{b}:flows dripfeed:{b}:ranges").await, 0);
    flood(&bucket, "a", 100).await;
    flood(&bucket, "b", 100).await;
    assert_eq!(count(&call(&replica, 5, 100).await), counts([("a", 100)]));
}

#[tokio::test]
async fn where_weights_change_it_counts_from_the_change() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    flood(&bucket, "a", 200).await;
    flood(&bucket, "b", 200).await;
    let replica = join(&bucket, "a").await;
    assert_eq!(call(&replica, 1, 1).await[0].0, "a");
    for weights in [json!({ "a": 10, "b": 10 }), json!({ "a": 10, "b": 4 }), json!({})] {
        bucket.apply_overrides(&changed("fair.weights", weights.clone())).await.unwrap();
        let weights = ["a", "b"].map(|caller| (caller.to_owned(), weights[caller].as_f64().unwrap_or(1.0)));
        let mut called = Vec::new();
        for _ in 0..15 {
            called.extend(call(&replica, 1, 1).await);
            nobody_is_ahead(&count(&called), &weights);
        }
    }
}

#[tokio::test]
async fn jobs_that_are_tried_again_wait_for_the_turns_of_their_caller() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    let replica = join(&bucket, "a").await;
    flood(&bucket, "fails", 18).await;
    for taken in take(&replica, 18).await {
        let again = Settlement::Retry { after: std::time::Duration::ZERO };
        settle(&replica, taken, again).await;
    }
    let quiet = submit(&bucket, of("quiet", "x")).await;
    let taken = take(&replica, 3).await;
    assert!(taken.iter().any(|taken| taken.claim.id() == quiet.id));
    assert!(taken.iter().filter(|taken| taken.claim.id() != quiet.id).all(|taken| taken.claim.failures() == 1));
}

#[tokio::test]
async fn where_only_retries_wait_they_take_turns() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    let replica = join(&bucket, "a").await;
    for (caller, jobs) in [("fails often", 20), ("fails once", 1)] {
        flood(&bucket, caller, jobs).await;
        for taken in take(&replica, jobs).await {
            settle(&replica, taken, Settlement::Retry { after: std::time::Duration::ZERO }).await;
        }
    }
    let called = call(&replica, 2, 2).await;
    assert_eq!(count(&called), counts([("fails often", 1), ("fails once", 1)]));
}

#[tokio::test]
async fn a_quiet_caller_is_not_refused_for_what_another_has_queued() {
    let redis = TestRedis::start().await;
    let mut settings = BucketSettings { capacity: 20_000, ..super::buckets::settings("b") };
    settings.leak.rate = "10/s".parse().ok();
    let bucket = super::buckets::open(&redis, settings).await;
    flood(&bucket, "flooder", 1000).await;
    let within = |caller: &str| dripfeed_job::Submission {
        expires_in: Some(std::time::Duration::from_secs(30)),
        ..of(caller, "x")
    };
    let refused = super::buckets::refused(bucket.admit(within("flooder")).await);
    assert_eq!(refused.reason, RefusalReason::DeadlineUnreachable);
    let admitted = submit(&bucket, within("quiet")).await;
    assert!(admitted.eta < std::time::Duration::from_secs(2), "{:?}", admitted.eta);
}
