//! Further rates, such as a daily quota: a call needs room in the rate and in each tier.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::Submission;
use dripfeed_tests::buckets::{admitted, changed, join, refused, takes_nothing};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::until;
use serde_json::{Value as Json, json};

use super::{count, counts, flood, of, open, take_all};

/// Takes exactly `most` jobs. After late replies of Redis the used tokens drain later, so it waits for them.
async fn gets(replica: &Replica, most: usize) {
    let calls = Cell::new(0);
    until("calls", async || {
        calls.set(calls.get() + take_all(replica).await.len());
        calls.get() >= most
    })
    .await;
    assert_eq!((calls.get(), take_all(replica).await.len()), (most, 0));
}

#[tokio::test]
async fn the_fullest_of_the_rate_and_the_tiers_decides_and_a_named_one_has_its_own_tiers() {
    let redis = TestRedis::start().await;
    let named = json!({
        "none": { "tiers": [] },
        "own": { "tiers": [{ "rate": "1/h", "burst": 4 }, { "rate": "1/d" }] },
        "quick": { "rate": "1000/s", "burst": 100 },
    });
    let tiers = json!([{ "rate": "1/d", "burst": 3 }]);
    let fair = [("fair.rate", json!("1/h")), ("fair.burst", json!(5)), ("fair.tiers", tiers), ("fair.flows", named)];
    let bucket = open(&redis, &fair).await;
    let [one, other] = [join(&bucket, "one").await, join(&bucket, "other").await];
    for caller in ["a", "b", "none", "own", "quick"] {
        flood(&bucket, caller, 10).await;
    }
    let mut taken = take_all(&one).await;
    taken.extend(take_all(&other).await);
    assert_eq!(count(&taken), counts([("a", 3), ("b", 3), ("none", 5), ("own", 1), ("quick", 3)]));
}

#[tokio::test]
async fn other_tiers_hold_at_once_and_what_was_used_is_kept_by_the_place() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.tiers", json!([{ "rate": "1/h", "burst": 5 }]))]).await;
    let replica = join(&bucket, "one").await;
    let change = async |name: &str, value: Json| bucket.apply_overrides(&changed(name, value)).await.unwrap();
    flood(&bucket, "a", 50).await;
    gets(&replica, 5).await;
    change("fair.tiers", json!([{ "rate": "2/366d", "burst": 7 }])).await;
    gets(&replica, 2).await;
    // The second tier is new: nothing was counted for it yet.
    change("fair.tiers", json!([{ "rate": "1/h", "burst": 20 }, { "rate": "1/d", "burst": 3 }])).await;
    gets(&replica, 3).await;
    // The rate has its place also while it isn't set, so setting it doesn't move the tiers.
    change("fair.burst", json!(4)).await;
    change("fair.rate", json!("1/h")).await;
    assert!(takes_nothing(&replica).await);
    change("fair.tiers", json!([{ "rate": "1/h", "burst": 11 }])).await;
    gets(&replica, 1).await;
    change("fair.tiers", Json::Null).await;
    gets(&replica, 3).await;
    change("fair.rate", Json::Null).await;
    gets(&replica, 36).await;
}

#[tokio::test]
async fn an_eta_is_that_of_the_slowest_of_the_rate_and_the_tiers() {
    let redis = TestRedis::start().await;
    let tiers = json!([{ "rate": "1/h", "burst": 4 }]);
    let bucket = open(&redis, &[("fair.rate", json!("1/m")), ("fair.burst", json!(3)), ("fair.tiers", tiers)]).await;
    let answers = bucket.admit_many(vec![of("a"); 6]).await;
    let etas: Vec<_> = answers.into_iter().map(|answer| admitted(answer).eta.as_secs()).collect();
    assert_eq!(etas, [0, 0, 0, 60, 3600, 7200]);
    let replica = join(&bucket, "one").await;
    assert_eq!(take_all(&replica).await.len(), 3);
    let late = Submission { expires_in: Some(Duration::from_secs(600)), ..of("a") };
    assert_eq!(refused(bucket.admit(late.clone()).await).reason, RefusalReason::DeadlineUnreachable);
    bucket.apply_overrides(&changed("fair.tiers", Json::Null)).await.unwrap();
    assert!(matches!(bucket.admit(late).await, Ok(Admission::Admitted(_))));
}

#[tokio::test]
async fn what_was_lost_of_a_tier_grants_nothing() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.tiers", json!([{ "rate": "1/h", "burst": 5 }]))]).await;
    let replica = join(&bucket, "one").await;
    flood(&bucket, "a", 50).await;
    assert_eq!(take_all(&replica).await.len(), 5);
    assert_eq!(redis.ask::<u64>("DEL dripfeed:{b}:flow-state").await, 1);
    assert!(take_all(&replica).await.is_empty());
}

/// The field and the text of the only caller's state.
pub(super) async fn only_state(redis: &TestRedis) -> (String, String) {
    let states: BTreeMap<String, String> = redis.ask("HGETALL dripfeed:{b}:flow-state").await;
    let is_number = |name: &str| name.bytes().all(|c| c.is_ascii_digit());
    states.into_iter().find(|(name, _)| is_number(name)).expect("a caller's state")
}

/// An installation that is upgraded in place has states of the earlier version.
#[tokio::test]
async fn a_state_of_a_version_without_tiers_is_read_and_one_without_tiers_is_written_in_its_form() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, &[("fair.rate", json!("1/h")), ("fair.burst", json!(5))]).await;
    let replica = join(&bucket, "one").await;
    flood(&bucket, "a", 50).await;
    assert_eq!(take_all(&replica).await.len(), 5);
    let (number, state) = only_state(&redis).await;
    let words: Vec<_> = state.split(' ').collect();
    let [calls, debt, at, full, waits, out] = words[..] else { panic!("{state}") };
    assert_eq!((calls, waits), ("5", "0"), "{state}");
    assert!(debt.parse::<f64>().is_ok_and(|debt| (5.0..5.1).contains(&debt)), "{state}");
    assert!(out.starts_with("0:"), "{state}");

    let mut set = redis::cmd("HSET");
    set.arg("dripfeed:{b}:flow-state").arg(&number).arg(format!("5 5 {at} {full} 0 {out}"));
    redis.store().await.command::<u64>(&set).await.unwrap();
    bucket.apply_overrides(&changed("fair.tiers", json!([{ "rate": "1/d", "burst": 3 }]))).await.unwrap();
    bucket.apply_overrides(&changed("fair.burst", 7)).await.unwrap();
    gets(&replica, 2).await;
    bucket.apply_overrides(&changed("fair.burst", 20)).await.unwrap();
    gets(&replica, 1).await;
    let (_, state) = only_state(&redis).await;
    assert!(state.contains(" 0 t:"), "{state}");
    bucket.apply_overrides(&changed("fair.tiers", Json::Null)).await.unwrap();
    gets(&replica, 12).await;
    let (_, state) = only_state(&redis).await;
    assert!(!state.contains("t:"), "{state}");
}
