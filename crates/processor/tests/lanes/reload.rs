use std::collections::HashMap;

use dripfeed_job::{Ending, JobState};

use dripfeed_tests::buckets::changed;

use crate::harness::{Harness, Work, admitted, job, outcome, settings};
use crate::upstream::Feed;

#[tokio::test]
async fn a_changed_upstream_gets_the_next_call_and_the_old_one_ends_where_it_began() {
    let (harness, mut old, mut new) = (Harness::start().await, Feed::open().await, Feed::open().await);
    let bucket = harness.bucket(settings("feed"));
    let work = Work::begin(vec![(bucket.clone(), old.upstream())]);
    let first = admitted(&bucket, job("first")).await;
    let under_way = old.call().await;

    let mut patient = settings("feed");
    patient.retry.attempts = 9;
    work.processor.reconcile(vec![(harness.bucket(patient), new.upstream())]);
    assert_eq!(bucket.settings().retry.attempts, 9);
    let second = admitted(&bucket, job("second")).await;
    new.call().await.ok();
    under_way.ok();
    for id in [first, second] {
        assert_eq!(outcome(&bucket, id).await.outcome.result, Ending::Delivered);
    }
    assert_eq!(bucket.census().await.unwrap().replicas.len(), 1);
    work.ended().await;
}

#[tokio::test]
async fn a_removed_bucket_is_drained_and_a_new_one_begins() {
    let (harness, mut removed, mut added) = (Harness::start().await, Feed::open().await, Feed::open().await);
    let (one, other) = (harness.bucket(settings("one")), harness.bucket(settings("other")));
    let work = Work::begin(vec![(one.clone(), removed.upstream())]);
    let first = admitted(&one, job("first")).await;
    let under_way = removed.call().await;
    work.processor.reconcile(vec![(other.clone(), added.upstream())]);
    under_way.ok();
    assert_eq!(outcome(&one, first).await.outcome.result, Ending::Delivered);
    while !one.census().await.unwrap().replicas.is_empty() {
        tokio::task::yield_now().await;
    }
    let left = admitted(&one, job("left")).await;
    let called = admitted(&other, job("called")).await;
    added.call().await.ok();
    assert_eq!(outcome(&other, called).await.outcome.result, Ending::Delivered);
    assert_eq!(one.find(left).await.unwrap().unwrap().state, JobState::Waiting);
    assert!(removed.has_no_call());
    work.ended().await;
}

#[tokio::test]
async fn a_bucket_that_comes_back_while_it_is_drained_makes_no_more_calls_at_once() {
    let (harness, mut feed, other) = (Harness::start().await, Feed::open().await, Feed::open().await);
    let mut narrow = settings("feed");
    narrow.leak.concurrency = 1;
    let bucket = harness.bucket(narrow.clone());
    let work = Work::begin(vec![(bucket.clone(), feed.upstream())]);
    admitted(&bucket, job("first")).await;
    let under_way = feed.call().await;
    let replicas = || async { harness.store.command::<HashMap<String, u64>>(&members()).await.unwrap() };
    let before = replicas().await;
    work.processor.reconcile(vec![(harness.bucket(settings("other")), other.upstream())]);
    admitted(&bucket, job("second")).await;
    work.processor.reconcile(vec![(harness.bucket(narrow), feed.upstream())]);
    // It has asked for jobs before its second heartbeat.
    while !replicas().await.iter().any(|(replica, beats)| !before.contains_key(replica) && *beats >= 2) {
        tokio::task::yield_now().await;
    }
    assert!(feed.has_no_call(), "two calls at once");
    under_way.ok();
    feed.call().await.ok();
    work.ended().await;
    assert_eq!(bucket.census().await.unwrap().level, 0);
}

fn members() -> redis::Cmd {
    redis::cmd("HGETALL").arg("dripfeed:{feed}:replicas").to_owned()
}

#[tokio::test]
async fn more_slots_are_used_at_once_also_when_all_are_taken() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let mut narrow = settings("feed");
    narrow.leak.concurrency = 1;
    let bucket = harness.bucket(narrow);
    let work = Work::begin(vec![(bucket.clone(), feed.upstream())]);
    for body in ["a", "b", "c"] {
        admitted(&bucket, job(body)).await;
    }
    let first = feed.call().await;
    bucket.apply_overrides(&changed("leak.concurrency", 3)).await.unwrap();
    let others = feed.calls(2).await;
    first.ok();
    for call in others {
        call.ok();
    }
    work.ended().await;
    assert_eq!(bucket.census().await.unwrap().level, 0);
}
