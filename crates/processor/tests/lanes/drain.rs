use std::time::Duration;

use dripfeed_job::{Ending, JobState};
use tokio::time::Instant;

use crate::harness::{Harness, Work, admitted, job, outcome, settings};
use crate::upstream::Feed;

#[tokio::test]
async fn a_stop_lets_calls_under_way_end_and_takes_no_more() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let mut narrow = settings("feed");
    narrow.leak.concurrency = 1;
    let bucket = harness.bucket(narrow);
    let work = Work::begin(vec![(bucket.clone(), feed.upstream())]);
    let (begun, later) = (admitted(&bucket, job("begun")).await, admitted(&bucket, job("later")).await);
    let call = feed.call().await;
    work.stop();
    call.ok();
    work.ended().await;
    assert_eq!(outcome(&bucket, begun).await.outcome.result, Ending::Delivered);
    assert!(feed.has_no_call());
    assert_eq!(bucket.find(later).await.unwrap().unwrap().state, JobState::Waiting);
    assert_eq!(bucket.census().await.unwrap().replicas, []);
}

#[tokio::test]
async fn what_the_drain_leaves_is_given_back_and_costs_no_attempt() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let bucket = harness.bucket(settings("feed"));
    let work = Work::with(vec![(bucket.clone(), feed.upstream())], Duration::from_millis(100));
    let id = admitted(&bucket, job("slow")).await;
    let hanging = feed.call().await;
    let begun = Instant::now();
    work.ended().await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.in_flight, census.replicas), (1, 0, Vec::new()));
    drop(hanging);

    let work = Work::begin(vec![(bucket.clone(), feed.upstream())]);
    let again = feed.call().await;
    assert_eq!((again.body.as_str(), again.header("dripfeed-attempt")), ("slow", "1"));
    again.ok();
    assert_eq!(outcome(&bucket, id).await.outcome.attempts, 1);
    work.ended().await;
}

#[tokio::test]
async fn a_stop_is_bounded_also_while_redis_stands_still() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let bucket = harness.bucket(settings("feed"));
    let work = Work::with(vec![(bucket.clone(), feed.upstream())], Duration::from_millis(100));
    admitted(&bucket, job("slow")).await;
    let _hanging = feed.call().await;
    harness.redis.pause().unwrap();
    let begun = Instant::now();
    work.ended().await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    harness.redis.resume().unwrap();
}
