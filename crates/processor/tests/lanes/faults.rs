use std::sync::atomic::{AtomicUsize, Ordering};

use dripfeed_job::{Ending, JobId, Submission};
use dripfeed_trace::Tracer;
use http::StatusCode;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::harness::{Harness, Work, admitted, job, outcome, settings};
use crate::upstream::{Call, Feed};

#[tokio::test]
async fn a_call_that_ended_while_redis_was_away_is_settled_and_not_made_again() {
    let (mut harness, mut feed) = (Harness::start().await, Feed::open().await);
    let bucket = harness.bucket(settings("feed"));
    let work = Work::begin(vec![(bucket.clone(), feed.upstream())]);
    let before = admitted(&bucket, job("before")).await;
    let call = feed.call().await;
    harness.redis.kill().await.unwrap();
    call.answer((StatusCode::OK, "eaten"));
    harness.redis_comes_back().await;
    assert_eq!(outcome(&bucket, before).await.outcome.attempts, 1);
    assert!(feed.has_no_call());

    let after = admitted(&bucket, job("after")).await;
    feed.call().await.ok();
    assert_eq!(outcome(&bucket, after).await.outcome.result, Ending::Delivered);
    work.ended().await;
}

#[tokio::test]
async fn a_replica_that_was_declared_dead_joins_anew_under_another_name() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let bucket = harness.bucket(settings("feed"));
    let work = Work::begin(vec![(bucket.clone(), feed.upstream())]);
    let first = admitted(&bucket, job("first")).await;
    let held = feed.call().await;
    let replicas = || async { bucket.census().await.unwrap().replicas };
    let before = replicas().await;
    let mut forget = redis::cmd("HDEL");
    forget.arg("dripfeed:{feed}:replicas").arg(&before[0].consumer);
    harness.store.command::<u64>(&forget).await.unwrap();

    // The new one finds what the old one left, and calls again: at least once is the promise.
    let again = feed.call().await;
    assert_eq!((again.body.as_str(), again.header("dripfeed-attempt")), ("first", "1"));
    held.answer(StatusCode::NOT_FOUND);
    again.ok();
    assert_eq!(outcome(&bucket, first).await.outcome.result, Ending::Delivered);
    let after = replicas().await;
    assert_eq!(after.len(), 1, "{after:?}");
    assert_ne!(after[0].consumer, before[0].consumer);
    assert!(after[0].consumer.starts_with("east-"));
    assert!(work.metrics().contains(r#"dripfeed_jobs_recovered_total{bucket="feed"} 1"#), "{}", work.metrics());
    work.ended().await;
}

#[tokio::test]
async fn lanes_begin_when_redis_comes() {
    let (mut harness, mut feed) = (Harness::start().await, Feed::open().await);
    harness.redis.kill().await.unwrap();
    let bucket = harness.bucket(settings("feed"));
    let work = Work::begin(vec![(bucket.clone(), feed.upstream())]);
    assert!(harness.store.ping().await.is_err());
    harness.redis_comes_back().await;
    let id = admitted(&bucket, job("meat")).await;
    feed.call().await.ok();
    assert_eq!(outcome(&bucket, id).await.outcome.result, Ending::Delivered);
    work.ended().await;
}

#[tokio::test]
async fn jobs_that_were_taken_while_nobody_heard_the_answer_are_called() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let mut paced = settings("feed");
    paced.leak.rate = Some("20/s".parse().unwrap());
    let bucket = harness.bucket(paced);
    let mut jobs = Vec::new();
    for _ in 0..5 {
        jobs.push(admitted(&bucket, job("meat")).await);
    }
    let work = Work::begin(vec![(bucket.clone(), feed.upstream())]);
    let under_way = feed.call().await;

    // What is asked of a Redis that stands still is done when it goes on, also for a caller that has given up waiting.
    harness.redis.pause().unwrap();
    for _ in 0..3 {
        assert!(harness.store.ping().await.is_err());
    }
    harness.redis.resume().unwrap();

    for call in feed.calls(4).await {
        assert_eq!(call.header("dripfeed-attempt"), "1");
        call.ok();
    }
    under_way.ok();
    for id in jobs {
        assert_eq!(outcome(&bucket, id).await.outcome.attempts, 1);
    }
    assert!(feed.has_no_call());
    work.ended().await;
}

/// It stays with a replica that lives, so nobody declares it dead.
#[tokio::test]
async fn a_job_whose_task_panics_is_requeued_by_the_replica_that_holds_it() {
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let bucket = harness.bucket(settings("feed"));
    let panics = AtomicUsize::new(2);
    let tracer = Tracer::new(1.0, move |span| {
        let left = panics.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        assert!(span.name != "wait" || left.is_err(), "an exporter that panics before the call");
    });
    let work = Work::traced(vec![(bucket.clone(), feed.upstream())], tracer);
    let traceparent = Some("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01".into());
    let id = admitted(&bucket, Submission { traceparent, ..job("panics twice") }).await;
    let call = feed.call().await;
    assert_eq!((call.body.as_str(), call.header("dripfeed-attempt")), ("panics twice", "1"));
    call.ok();
    assert_eq!(outcome(&bucket, id).await.outcome.result, Ending::Delivered);
    assert!(feed.has_no_call());
    work.ended().await;
}

/// Panics at each event of a settlement that Redis refuses.
struct FailingLog;

impl Subscriber for FailingLog {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "dripfeed_bucket::deliver::settle" && *metadata.level() > Level::ERROR
    }

    fn event(&self, event: &Event<'_>) {
        unreachable!("a log that panics at {event:?}");
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

/// What can't be recorded is tried again, however often that panics; those that were to be recorded with it are.
#[tokio::test]
async fn a_job_whose_settlement_panics_each_time_is_called_once_and_keeps_no_other() {
    let _log = tracing::subscriber::set_default(FailingLog);
    let (harness, mut feed) = (Harness::start().await, Feed::open().await);
    let bucket = harness.bucket(settings("feed"));
    let work = Work::begin(vec![(bucket.clone(), feed.upstream())]);
    for _ in 0..3 {
        admitted(&bucket, job("meat")).await;
    }
    let mut calls = feed.calls(3).await;
    // No script can bury a job, which is logged.
    let mut spoil = redis::cmd("SET");
    spoil.arg("dripfeed:{feed}:dead:letters").arg("no hash");
    harness.store.command::<String>(&spoil).await.unwrap();
    let id_of = |call: &Call| call.header("dripfeed-job-id").parse().unwrap();
    let poisonous = calls.remove(1);
    let (dead, delivered): (_, Vec<JobId>) = (id_of(&poisonous), calls.iter().map(id_of).collect());
    poisonous.answer(StatusCode::BAD_REQUEST);
    calls.into_iter().for_each(Call::ok);
    for id in delivered {
        assert_eq!(outcome(&bucket, id).await.outcome.result, Ending::Delivered);
    }
    let mut mend = redis::cmd("DEL");
    mend.arg("dripfeed:{feed}:dead:letters");
    harness.store.command::<u64>(&mend).await.unwrap();
    let ended = outcome(&bucket, dead).await.outcome;
    assert_eq!((ended.result, ended.attempts), (Ending::Dead, 1));
    assert!(feed.has_no_call());
    work.ended().await;
}
