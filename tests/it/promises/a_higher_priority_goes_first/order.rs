//! The order of calls.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::Priority::{self, High, Low, Normal};
use dripfeed_job::Submission;
use dripfeed_tests::buckets::{self, buried, changed, join, refused, settle, submit, take, take_one};
use dripfeed_tests::redis_server::TestRedis;
use serde_json::json;

use super::{call, count, flood, of, open, read, sinks};

#[tokio::test]
async fn all_of_a_higher_priority_come_first_and_callers_take_turns_within() {
    for most in [1, 7, 50] {
        let redis = TestRedis::start().await;
        let bucket = open(&redis).await;
        bucket.apply_overrides(&changed("fair.weights", json!({ "b": 2 }))).await.unwrap();
        for priority in [Low, Normal, High] {
            flood(&bucket, "a", priority, 120).await;
            flood(&bucket, "b", priority, 120).await;
        }
        let replica = join(&bucket, "one").await;
        let mut called = Vec::new();
        for priority in [High, Normal, Low] {
            let first = call(&replica, most, 150).await;
            let expected = [((priority, "a"), 50), ((priority, "b"), 100)];
            assert_eq!(count(&first), expected.into(), "takes of {most}");
            called.extend(first);
            called.extend(call(&replica, most, 90).await);
        }
        assert!(sinks(&called), "takes of {most}: {called:?}");
        assert_eq!(bucket.census().await.unwrap().level, 0);
        assert_eq!(bucket.examine(false).await.unwrap(), Examination::default());
    }
}

#[tokio::test]
async fn a_high_job_behind_thousands_is_next_and_a_low_one_last() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    let low = submit(&bucket, of("c", Low)).await;
    flood(&bucket, "a", Normal, 3000).await;
    let replica = join(&bucket, "one").await;
    call(&replica, 10, 30).await;
    let high = submit(&bucket, of("a", High)).await;
    assert_eq!(take_one(&replica).await.claim.id(), high.id);
    call(&replica, 50, 2970).await;
    assert_eq!(take_one(&replica).await.claim.id(), low.id);
}

/// Also if a take can't read all waiting jobs.
#[tokio::test]
async fn a_high_job_goes_before_large_ones_of_its_own_batch() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    let large = |priority| Submission { body: vec![b'x'; 200_000].into(), ..of("a", priority) };
    let batch = [Normal, Normal, Low, Normal, High].map(large);
    assert!(bucket.admit_many(batch.into()).await.iter().all(Result::is_ok));
    let replica = join(&bucket, "one").await;
    let called = call(&replica, 50, 5).await;
    assert_eq!(called.iter().map(|(_, priority)| *priority).collect::<Vec<_>>(), [High, Normal, Normal, Normal, Low]);
}

#[tokio::test]
async fn what_is_added_by_hand_has_its_priority_too() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    for priority in ["low", "urgent", "normal", "high"] {
        redis.ask::<String>(&format!("XADD dripfeed:{{b}}:jobs * body x caller c priority {priority}")).await;
    }
    let replica = join(&bucket, "one").await;
    let called = call(&replica, 1, 4).await;
    assert_eq!(called.iter().map(|(_, priority)| *priority).collect::<Vec<_>>(), [High, Normal, Normal, Low]);
}

#[tokio::test]
async fn a_job_keeps_its_priority_when_it_is_tried_again_or_replayed() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    let replica = join(&bucket, "one").await;
    let high = submit(&bucket, of("a", High)).await;
    let taken = take_one(&replica).await;
    flood(&bucket, "b", Normal, 200).await;
    settle(&replica, taken, Settlement::Retry { after: Duration::ZERO }).await;
    let again = take_one(&replica).await;
    assert_eq!((again.claim.id(), again.claim.failures()), (high.id, 1));
    settle(&replica, again, buried("no luck")).await;
    let ReplayResult::As(replayed) = bucket.replay(high.id).await.unwrap() else { panic!("there is room") };
    let taken = take_one(&replica).await;
    assert_eq!((taken.claim.id(), read(&taken).1), (replayed.id, High));
    settle(&replica, taken, buried("no luck")).await;
    let edited = bucket.replay_edited(replayed.id, "y".into(), None, None).await.unwrap();
    let ReplayResult::As(edited) = edited else { panic!("there is room") };
    let taken = take_one(&replica).await;
    assert_eq!((taken.claim.id(), read(&taken).1), (edited.id, High));
}

#[tokio::test]
async fn a_delayed_job_has_its_priority_when_its_time_comes() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    let replica = join(&bucket, "one").await;
    flood(&bucket, "a", Normal, 200).await;
    let start = dripfeed_job::StartTime::After(Duration::from_millis(1));
    let high = submit(&bucket, Submission { start, ..of("b", High) }).await;
    let called = async || {
        let taken = take_one(&replica).await;
        let id = taken.claim.id();
        settle(&replica, taken, buckets::DELIVERED).await;
        id
    };
    let mut before = 0;
    while called().await != high.id {
        before += 1;
    }
    // Only the jobs of a millisecond or two are called before it.
    assert!(before < 200, "{before}");
}

#[tokio::test]
async fn an_eta_is_that_of_its_priority() {
    let redis = TestRedis::start().await;
    let mut settings = BucketSettings { capacity: 20_000, ..buckets::settings("b") };
    settings.leak.rate = "10/s".parse().ok();
    let bucket = buckets::open(&redis, settings).await;
    flood(&bucket, "a", Normal, 1000).await;
    let within = |caller: &str, priority: Priority| Submission {
        expires_in: Some(Duration::from_secs(30)),
        ..of(caller, priority)
    };
    for (caller, priority) in [("a", Normal), ("a", Low), ("b", Low)] {
        let refused = refused(bucket.admit(within(caller, priority)).await);
        assert_eq!(refused.reason, RefusalReason::DeadlineUnreachable, "{caller} {priority}");
    }
    for caller in ["a", "b"] {
        let admitted = submit(&bucket, within(caller, High)).await;
        assert!(admitted.eta < Duration::from_secs(2), "{:?}", admitted.eta);
    }
    flood(&bucket, "b", High, 1000).await;
    // The turn of `c` is soon, but all jobs of a high priority come before it.
    let refused = refused(bucket.admit(within("c", Normal)).await);
    assert_eq!(refused.reason, RefusalReason::DeadlineUnreachable);
    submit(&bucket, within("c", High)).await;
}

#[tokio::test]
async fn where_all_wait_in_one_line_a_priority_is_refused() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    bucket.apply_overrides(&changed("fair.by", "off")).await.unwrap();
    // The response to a submission informs this process of the change.
    flood(&bucket, "a", Normal, 1).await;
    for priority in [High, Low] {
        let refused = bucket.admit(of("a", priority)).await.unwrap_err();
        assert!(matches!(refused, BucketError::Turns { by: "off", .. }), "{refused}");
    }
    let list = BucketSettings { kind: Kind::List, ..buckets::settings("list") };
    let list = buckets::open(&redis, list).await;
    assert!(matches!(list.admit(of("a", High)).await, Err(BucketError::Unsupported(_))));
    submit(&list, of("a", Normal)).await;
}

#[tokio::test]
async fn a_normal_job_says_nothing_of_it() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    submit(&bucket, of("a", Normal)).await;
    submit(&bucket, of("a", High)).await;
    let entries: Vec<(String, Vec<String>)> = redis.ask("XRANGE dripfeed:{b}:jobs - +").await;
    let named: Vec<bool> = entries.iter().map(|(_, fields)| fields.iter().any(|field| field == "priority")).collect();
    assert_eq!(named, [false, true]);
}

#[tokio::test]
async fn who_waits_is_shown_by_priority() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    flood(&bucket, "a", Normal, 200).await;
    flood(&bucket, "b", Normal, 10).await;
    flood(&bucket, "b", High, 2).await;
    flood(&bucket, "a", Low, 3).await;
    let flows = bucket.flows(10).await.unwrap();
    let items: Vec<_> =
        flows.items.iter().map(|flow| (flow.priority, flow.caller.as_deref().unwrap(), flow.waiting)).collect();
    assert_eq!(items, [(High, "b", 2), (Normal, "a", 200), (Normal, "b", 10), (Low, "a", 3)]);
    let priorities: Vec<_> = flows.priorities.iter().map(|state| (state.priority, state.waiting)).collect();
    assert_eq!(priorities, [(High, 2), (Normal, 210), (Low, 3)]);
    let ages: Vec<_> = flows.priorities.iter().map(|state| state.oldest_age.unwrap()).collect();
    assert!(ages[1] >= ages[0] && ages[1] >= ages[2], "the normal ones came first: {ages:?}");
    let replica = join(&bucket, "one").await;
    let taken = take(&replica, 1).await;
    let views = bucket.jobs(&JobFilter::default(), None, 500).await.unwrap().items;
    assert_eq!(views.iter().filter(|view| view.priority == Some(High)).count(), 2);
    assert_eq!(bucket.find(taken[0].claim.id()).await.unwrap().unwrap().priority, Some(High));
}
