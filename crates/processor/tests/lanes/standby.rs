use std::time::Duration;

use dripfeed_bucket::{Bucket, Consumer, JoinKind, Kind};
use dripfeed_job::{Ending, StartTime, Submission};
use redis::cmd;
use tokio::time::timeout;

use crate::harness::{Harness, Work, admitted, job, outcome, settings};
use crate::upstream::{Feed, PATIENCE};

/// Of `feed`: how many are members of the group, and how many are on standby.
async fn members_and_standby(harness: &Harness) -> (u64, u64) {
    let count = async |key: &str| harness.store.command::<u64>(cmd("HLEN").arg(key)).await.unwrap();
    (count("dripfeed:{feed}:replicas").await, count("dripfeed:{feed}:standby").await)
}

async fn until(harness: &Harness, expected: (u64, u64)) {
    timeout(PATIENCE, async { while members_and_standby(harness).await != expected {} })
        .await
        .expect("it comes to that");
}

async fn bucket_on_standby(kind: Kind) -> (Harness, Feed, Bucket, Work) {
    let (harness, feed) = (Harness::start().await, Feed::open().await);
    let mut settings = settings("feed");
    settings.kind = kind;
    let bucket = harness.bucket(settings);
    let work = Work::soon_on_standby(vec![(bucket.clone(), feed.upstream())]);
    until(&harness, (0, 1)).await;
    (harness, feed, bucket, work)
}

#[tokio::test]
async fn a_lane_without_jobs_leaves_its_bucket_and_joins_again_when_one_comes() {
    for kind in [Kind::Stream, Kind::List] {
        let (harness, mut feed, bucket, work) = bucket_on_standby(kind).await;
        for round in 0..3 {
            let census = bucket.census().await.unwrap();
            assert_eq!((census.replicas.len(), census.level), (1, 0), "it serves the bucket: {kind:?}");
            let id = admitted(&bucket, job("meat")).await;
            let call = feed.call().await;
            assert_eq!(members_and_standby(&harness).await, (1, 0), "{kind:?} {round}");
            call.ok();
            assert_eq!(outcome(&bucket, id).await.outcome.result, Ending::Delivered);
            until(&harness, (0, 1)).await;
        }
        work.ended().await;
        assert_eq!(members_and_standby(&harness).await, (0, 0), "{kind:?}");
    }
}

#[tokio::test]
async fn what_others_add_wakes_a_lane_on_standby() {
    let (harness, mut feed, bucket, work) = bucket_on_standby(Kind::Stream).await;
    let id = harness.add_by_hand("feed", "body", "fish").await;
    let call = feed.call().await;
    assert_eq!(call.body, "fish");
    call.ok();
    assert_eq!(outcome(&bucket, id).await.outcome.result, Ending::Delivered);
    work.ended().await;
}

#[tokio::test]
async fn what_others_add_to_a_list_wakes_a_lane_on_standby() {
    let (harness, mut feed, _bucket, work) = bucket_on_standby(Kind::List).await;
    harness.store.command::<u64>(cmd("LPUSH").arg("dripfeed:{feed}:jobs").arg("fish")).await.unwrap();
    let call = feed.call().await;
    assert_eq!(call.body, "fish");
    call.ok();
    work.ended().await;
}

#[tokio::test]
async fn a_lane_on_standby_hears_of_jobs_after_its_connection_was_killed() {
    let (harness, mut feed, bucket, work) = bucket_on_standby(Kind::Stream).await;
    for _ in 0..3 {
        harness.store.command::<u64>(cmd("CLIENT").arg("KILL").arg("TYPE").arg("pubsub")).await.unwrap();
        let id = admitted(&bucket, job("meat")).await;
        feed.call().await.ok();
        assert_eq!(outcome(&bucket, id).await.outcome.result, Ending::Delivered);
        until(&harness, (0, 1)).await;
    }
    work.ended().await;
}

#[tokio::test]
async fn a_lane_on_standby_goes_on_when_redis_was_killed() {
    let (mut harness, mut feed, bucket, work) = bucket_on_standby(Kind::Stream).await;
    harness.redis.kill().await.unwrap();
    harness.redis_comes_back().await;
    let id = admitted(&bucket, job("meat")).await;
    feed.call().await.ok();
    assert_eq!(outcome(&bucket, id).await.outcome.result, Ending::Delivered);
    until(&harness, (0, 1)).await;
    work.ended().await;
}

#[tokio::test]
async fn a_bucket_with_a_delayed_job_is_not_left() {
    let (harness, mut feed, bucket, work) = bucket_on_standby(Kind::Stream).await;
    let later = Submission { start: StartTime::After(Duration::from_secs(2)), ..job("later") };
    let id = admitted(&bucket, later).await;
    until(&harness, (1, 0)).await;
    let parked = async || harness.store.command::<u64>(cmd("ZCARD").arg("dripfeed:{feed}:parked")).await.unwrap();
    timeout(PATIENCE, async { while parked().await == 0 {} }).await.expect("it is parked");
    while parked().await > 0 {
        // What was the last look may be later than the job.
        let seen = members_and_standby(&harness).await;
        assert!(seen == (1, 0) || parked().await == 0, "{seen:?}");
    }
    feed.call().await.ok();
    assert_eq!(outcome(&bucket, id).await.outcome.result, Ending::Delivered);
    until(&harness, (0, 1)).await;
    work.ended().await;
}

#[tokio::test]
async fn a_job_in_flight_with_the_dead_is_recovered_in_a_bucket_that_nobody_watched() {
    let (harness, mut feed, bucket, work) = bucket_on_standby(Kind::Stream).await;
    let jobs = "dripfeed:{feed}:jobs";
    let mut claim = redis::pipe();
    claim.atomic().cmd("XGROUP").arg(&["CREATE", jobs, "processors", "0", "MKSTREAM"]).ignore();
    claim.cmd("XADD").arg(&[jobs, "*", "body", "meat"]).cmd("XREADGROUP");
    claim.arg(&["GROUP", "processors", "dead", "COUNT", "1", "STREAMS", jobs, ">"]).ignore();
    let (id,): (String,) = harness.store.pipeline(&claim).await.unwrap();
    let again = feed.call().await;
    assert_eq!(again.header("dripfeed-job-id"), id);
    again.ok();
    assert_eq!(outcome(&bucket, id.parse().unwrap()).await.outcome.result, Ending::Delivered);
    assert!(work.metrics().contains(r#"dripfeed_jobs_recovered_total{bucket="feed"} 1"#), "{}", work.metrics());
    until(&harness, (0, 1)).await;
    work.ended().await;
}

#[tokio::test]
async fn a_bucket_is_not_left_while_a_member_may_be_dead() {
    let (harness, feed) = (Harness::start().await, Feed::open().await);
    let bucket = harness.bucket(settings("feed"));
    bucket.join(Consumer::new("dead"), Duration::from_secs(3), JoinKind::First).await.unwrap();
    let work = Work::soon_on_standby(vec![(bucket.clone(), feed.upstream())]);
    until(&harness, (0, 1)).await;
    let consumers: Vec<redis::Value> = harness
        .store
        .command(cmd("XINFO").arg("CONSUMERS").arg("dripfeed:{feed}:jobs").arg("processors"))
        .await
        .unwrap();
    assert!(consumers.is_empty(), "its name is gone, too: {consumers:?}");
    work.ended().await;
}

#[tokio::test]
async fn two_processes_leave_and_come_together() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let bucket = harness.bucket(settings("feed"));
    let lanes = || vec![(harness.bucket(settings("feed")), feed.upstream())];
    let both = [Work::soon_on_standby(lanes()), Work::soon_on_standby(lanes())];
    until(&harness, (0, 2)).await;
    assert_eq!(bucket.census().await.unwrap().replicas.len(), 2);
    let id = admitted(&bucket, job("meat")).await;
    feed.call().await.ok();
    assert_eq!(outcome(&bucket, id).await.outcome.result, Ending::Delivered);
    until(&harness, (0, 2)).await;
    for work in both {
        work.ended().await;
    }
    assert_eq!(members_and_standby(&harness).await, (0, 0));
}

#[tokio::test]
async fn what_the_pace_has_consumed_outlasts_standby() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let mut slow = settings("feed");
    // On a busy machine one may be granted too late to be used.
    (slow.leak.rate, slow.leak.burst) = (Some("1/h".parse().unwrap()), 20);
    let bucket = harness.bucket(slow);
    let work = Work::soon_on_standby(vec![(bucket.clone(), feed.upstream())]);
    let first = admitted(&bucket, job("first")).await;
    feed.call().await.ok();
    assert_eq!(outcome(&bucket, first).await.outcome.result, Ending::Delivered);
    let left = async || bucket.census().await.unwrap().pace.tokens.unwrap();
    let before = left().await;
    assert!(before < 20, "{before}");
    until(&harness, (0, 1)).await;
    let ttl: i64 = harness.store.command(cmd("PTTL").arg("dripfeed:{feed}:pace:tiers")).await.unwrap();
    assert_eq!((ttl, left().await), (-1, before), "it is kept");
    // One that wakes the lane, and takes no token.
    admitted(&bucket, Submission { start: StartTime::After(Duration::from_hours(1)), ..job("later") }).await;
    until(&harness, (1, 0)).await;
    timeout(PATIENCE, async { while bucket.census().await.unwrap().parked == 0 {} }).await.expect("it is taken");
    assert_eq!(left().await, before);
    assert!(feed.has_no_call());
    work.ended().await;
}

#[tokio::test]
async fn connections_dont_grow_with_the_buckets() {
    let (harness, feed) = (Harness::start().await, Feed::open().await);
    let connections = async || {
        let list: String = harness.store.command(cmd("CLIENT").arg("LIST")).await.unwrap();
        list.lines().count()
    };
    let lane = |number: u32| {
        let name = if number == 0 { "feed".to_owned() } else { format!("feed{number}") };
        (harness.bucket(settings(&name)), feed.upstream())
    };
    let work = Work::soon_on_standby(vec![lane(0)]);
    until(&harness, (0, 1)).await;
    let of_one = connections().await;
    work.processor.reconcile((0..100).map(lane).collect());
    let keys = async |pattern: &str| {
        let keys: Vec<String> = harness.store.command(cmd("KEYS").arg(pattern)).await.unwrap();
        keys.len()
    };
    timeout(PATIENCE, async { while keys("dripfeed:{feed*}:standby").await < 100 {} }).await.expect("all stand by");
    assert_eq!(keys("dripfeed:{feed*}:replicas").await, 0);
    assert_eq!(connections().await, of_one);
    work.ended().await;
}
