//! If one caller submits for many users, the groups that it sets take turns.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::{Priority, Submission};
use dripfeed_tests::buckets::{self, buried, changed, join, refused, settle, submit, take, take_one};
use dripfeed_tests::redis_server::TestRedis;
use serde_json::json;

use super::of;

async fn open(redis: &TestRedis) -> Bucket {
    let fair = Fair { by: FairBy::Group, ..Fair::default() };
    buckets::open(redis, BucketSettings { capacity: 20_000, fair, ..buckets::settings("b") }).await
}

fn of_group(group: &str) -> Submission {
    Submission { group: group.parse().ok(), ..of("shop", group) }
}

async fn flood(bucket: &Bucket, submission: &Submission, jobs: usize) {
    let answers = bucket.admit_many(vec![submission.clone(); jobs]).await;
    assert!(answers.iter().all(|answer| matches!(answer, Ok(Admission::Admitted(_)))), "{answers:?}");
}

/// Calls jobs whose bodies name the group or caller that takes turns. Returns how many of each were called.
async fn call(replica: &Replica, most: usize, jobs: usize) -> Vec<(String, usize)> {
    let mut counts = std::collections::BTreeMap::new();
    for (_, body) in super::call(replica, most, jobs).await {
        *counts.entry(body).or_default() += 1;
    }
    counts.into_iter().collect()
}

fn counts<const N: usize>(counts: [(&str, usize); N]) -> Vec<(String, usize)> {
    counts.map(|(of, calls)| (of.to_owned(), calls)).into()
}

#[tokio::test]
async fn groups_of_one_caller_take_turns_by_weight() {
    for most in [1, 7, 50] {
        let redis = TestRedis::start().await;
        let bucket = open(&redis).await;
        bucket.apply_overrides(&changed("fair.weights", json!({ "eu": 2 }))).await.unwrap();
        flood(&bucket, &of_group("us"), 300).await;
        flood(&bucket, &of_group("eu"), 300).await;
        // Jobs without a group are called in the turns of their caller.
        flood(&bucket, &of("shop", "caller"), 300).await;
        let replica = join(&bucket, "a").await;
        assert_eq!(call(&replica, most, 400).await, counts([("caller", 100), ("eu", 200), ("us", 100)]), "{most}");
        assert_eq!(bucket.examine(false).await.unwrap(), Examination::default());
    }
}

#[tokio::test]
async fn a_group_is_no_caller_of_its_name() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    flood(&bucket, &of("same", "caller"), 100).await;
    flood(&bucket, &Submission { group: "same".parse().ok(), ..of("other", "group") }, 100).await;
    let replica = join(&bucket, "a").await;
    assert_eq!(call(&replica, 5, 50).await, counts([("caller", 25), ("group", 25)]));
    let flows = bucket.flows(10).await.unwrap().items;
    let named = |flow: &Flow| (flow.caller.clone(), flow.group.clone(), flow.waiting);
    let (same, mut found) = (Some("same".to_owned()), flows.iter().map(named).collect::<Vec<_>>());
    found.sort();
    assert_eq!(found, [(None, same.clone(), 75), (same, None, 75)]);
}

#[tokio::test]
async fn a_job_keeps_its_group_and_shows_it() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    let replica = join(&bucket, "a").await;
    let eu = submit(&bucket, of_group("eu")).await;
    assert_eq!(bucket.find(eu.id).await.unwrap().unwrap().group.as_deref(), Some("eu"));
    let taken = take_one(&replica).await;
    flood(&bucket, &of_group("us"), 200).await;
    settle(&replica, taken, Settlement::Retry { after: Duration::ZERO }).await;
    let taken = take(&replica, 2).await.into_iter().find(|taken| taken.claim.id() == eu.id).expect("its turn");
    settle(&replica, taken, buried("no luck")).await;
    let ReplayResult::As(replayed) = bucket.replay_edited(eu.id, "y".into(), None, None).await.unwrap() else {
        panic!("there is room")
    };
    assert_eq!(bucket.find(replayed.id).await.unwrap().unwrap().group.as_deref(), Some("eu"));
    assert!(take(&replica, 2).await.iter().any(|taken| taken.claim.id() == replayed.id));
}

#[tokio::test]
async fn the_eta_of_a_quiet_group_is_its_own() {
    let redis = TestRedis::start().await;
    let fair = Fair { by: FairBy::Group, ..Fair::default() };
    let mut settings = BucketSettings { capacity: 20_000, fair, ..buckets::settings("b") };
    settings.leak.rate = "10/s".parse().ok();
    let bucket = buckets::open(&redis, settings).await;
    flood(&bucket, &of_group("loud"), 1000).await;
    let within = |group: &str| Submission { expires_in: Some(Duration::from_secs(30)), ..of_group(group) };
    let refused = refused(bucket.admit(within("loud")).await);
    assert_eq!(refused.reason, RefusalReason::DeadlineUnreachable);
    let admitted = submit(&bucket, within("quiet")).await;
    assert!(admitted.eta < Duration::from_secs(2), "{:?}", admitted.eta);
}

#[tokio::test]
async fn what_is_queued_stays_in_its_group_when_callers_take_turns_again() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    flood(&bucket, &of_group("us"), 100).await;
    flood(&bucket, &of_group("eu"), 100).await;
    bucket.apply_overrides(&changed("fair.by", "caller")).await.unwrap();
    let replica = join(&bucket, "a").await;
    assert_eq!(call(&replica, 5, 50).await, counts([("eu", 25), ("us", 25)]));
    submit(&bucket, of("shop", "x")).await;
    let refused = bucket.admit(of_group("eu")).await.unwrap_err();
    assert!(matches!(refused, BucketError::Turns { by: "caller", .. }), "{refused}");
    bucket.apply_overrides(&changed("fair.by", "off")).await.unwrap();
    submit(&bucket, of("shop", "x")).await;
    let refused = bucket.admit(of_group("eu")).await.unwrap_err();
    assert!(matches!(refused, BucketError::Turns { by: "off", .. }), "{refused}");
}

#[tokio::test]
async fn a_higher_priority_goes_first_in_groups_too() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    flood(&bucket, &of_group("us"), 100).await;
    let high = |group: &str| Submission { priority: Some(Priority::High), ..of_group(group) };
    flood(&bucket, &high("us"), 10).await;
    flood(&bucket, &high("eu"), 10).await;
    let replica = join(&bucket, "a").await;
    assert_eq!(call(&replica, 4, 20).await, counts([("eu", 10), ("us", 10)]));
    assert_eq!(call(&replica, 4, 100).await, counts([("us", 100)]));
}
