//! The successive states of one job.

use std::collections::BTreeMap;
use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::{Ending, JobState, Submission};
use dripfeed_tests::buckets::{
    self, admitted, changed, join, open, refused, settle, submit, take, take_one, takes_nothing,
};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::PATIENCE;

#[tokio::test]
async fn a_job_is_admitted_taken_and_delivered() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let job = submit(&bucket, Submission { caller: Some("alice".to_owned()), ..buckets::job("hello") }).await;
    assert_eq!((job.level, job.capacity, job.repeated), (1, 100, false));
    assert_eq!(bucket.find(job.id).await.unwrap().unwrap().state, JobState::Waiting);

    let replica = join(&bucket, "a").await;
    let taken = take_one(&replica).await;
    assert_eq!(taken.job.as_ref().unwrap().body.as_ref(), b"hello");
    let view = bucket.find(job.id).await.unwrap().unwrap();
    assert_eq!((view.state, view.attempts, view.consumer.as_deref()), (JobState::InFlight, 1, Some("a")));
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.waiting, census.in_flight, census.parked), (1, 0, 1, 0));
    assert!(census.bytes >= 5);

    let settled = replica.settle(taken.claim, Settlement::Complete { status: 204, answer: None }).await.unwrap();
    assert_eq!(settled, SettleResult::Recorded);
    let view = bucket.find(job.id).await.unwrap().unwrap();
    assert_eq!(view.caller.as_deref(), Some("alice"));
    let (outcome, _) = view.outcome.unwrap();
    assert_eq!((outcome.result, outcome.status, outcome.attempts), (Ending::Delivered, Some(204), 1));
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.bytes, census.accepted), (0, 0, 1));
    let report = bucket.report(Duration::from_hours(1)).await.unwrap();
    assert_eq!((report.ended[0], report.attempts), ((Ending::Delivered, 1), 1));
}

#[tokio::test]
async fn a_small_job_is_not_kept_waiting_by_large_ones() {
    let redis = TestRedis::start().await;
    let settings = BucketSettings { capacity_bytes: 1 << 30, ..buckets::settings("b") };
    let bucket = open(&redis, settings).await;
    let large = "x".repeat(LARGEST_BODY);
    // The jobs are submitted in this order. Their ids have the order in which they are admitted.
    let bodies = (0..8).map(|_| large.clone()).chain(["small".to_owned()]);
    let jobs = futures::future::join_all(bodies.map(|body| submit(&bucket, buckets::job(body)))).await;
    assert!(jobs[8].id < jobs[7].id, "{jobs:?}");
}

#[tokio::test]
async fn a_failed_job_is_parked_tried_again_and_buried_whole() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let job = submit(&bucket, buckets::job("poor thing")).await;
    let replica = join(&bucket, "a").await;

    let taken = take_one(&replica).await;
    replica.settle(taken.claim, Settlement::Retry { after: Duration::from_hours(1) }).await.unwrap();
    let view = bucket.find(job.id).await.unwrap().unwrap();
    assert_eq!((view.state, view.attempts), (JobState::Parked, 1));
    assert!(view.due_ms.is_some());
    assert!(takes_nothing(&replica).await);

    assert_eq!(bucket.cancel(job.id).await.unwrap(), CancelResult::Cancelled);
    assert_eq!(bucket.cancel(job.id).await.unwrap(), CancelResult::Ended(Ending::Cancelled));

    let job = submit(&bucket, buckets::job("poor thing")).await;
    let taken = take_one(&replica).await;
    replica.settle(taken.claim, Settlement::Retry { after: Duration::ZERO }).await.unwrap();
    let taken = take_one(&replica).await;
    assert_eq!(taken.claim.failures(), 1);
    let bury = Settlement::Bury { reason: "no luck".into(), status: Some(500), answer: None, called: true };
    replica.settle(taken.claim, bury).await.unwrap();
    let letter = bucket.dead_letter(job.id).await.unwrap().unwrap();
    assert_eq!((letter.body.as_ref(), letter.outcome.attempts), (b"poor thing".as_slice(), 2));
    assert_eq!(bucket.dead_letters(&DeadFilter::default(), None, 10).await.unwrap().items.len(), 1);

    let ReplayResult::As(again) = bucket.replay(job.id).await.unwrap() else { panic!("there is room") };
    assert_eq!(bucket.replay(job.id).await.unwrap(), ReplayResult::Unknown);
    let taken = take_one(&replica).await;
    assert_eq!((taken.claim.id(), taken.claim.failures()), (again.id, 0));
    replica.settle(taken.claim, Settlement::Complete { status: 200, answer: None }).await.unwrap();
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.bytes, census.dead, census.in_flight), (0, 0, 0, 0));
}

#[tokio::test]
async fn room_is_refused_by_count_and_by_bytes_with_a_time() {
    let redis = TestRedis::start().await;
    let full = open(&redis, BucketSettings { capacity: 2, ..buckets::settings("count") }).await;
    let answers = full.admit_many((0..5).map(|n| buckets::job(n.to_string())).collect()).await;
    assert_eq!(answers.iter().filter(|a| matches!(a, Ok(Admission::Admitted(_)))).count(), 2);
    let refusal = refused(full.admit(buckets::job("x")).await);
    assert_eq!((refusal.reason, refusal.level, refusal.capacity), (RefusalReason::BucketFull, 2, 2));
    assert!(refusal.retry_after.is_some());

    let heavy = open(&redis, BucketSettings { capacity_bytes: 100, ..buckets::settings("bytes") }).await;
    admitted(heavy.admit(buckets::job("x".repeat(60))).await);
    assert_eq!(refused(heavy.admit(buckets::job("x".repeat(60))).await).reason, RefusalReason::BucketFull);
    assert_eq!(refused(heavy.admit(buckets::job("x".repeat(160))).await).reason, RefusalReason::NeverFits);
}

#[tokio::test]
async fn a_paused_bucket_that_is_full_is_looked_at_again_after_a_second_at_the_soonest() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, BucketSettings { capacity: 1, ..buckets::settings("b") }).await;
    bucket.pause().await.unwrap();
    admitted(bucket.admit(buckets::job("x")).await);
    let wait = async || refused(bucket.admit(buckets::job("x")).await).retry_after.unwrap();
    assert!(wait().await >= Duration::from_secs(1));
    bucket.resume().await.unwrap();
    assert!(wait().await < Duration::from_secs(1), "as long as nothing has left it yet");
}

#[tokio::test]
async fn a_dead_replicas_jobs_come_back_and_it_settles_nothing_more() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    submit(&bucket, buckets::job("x")).await;
    let lease = Duration::from_millis(300);
    let dead = bucket.join(Consumer::new("dead"), lease, JoinKind::First).await.unwrap();
    let taken = take_one(&dead).await;
    let alive = bucket.join(Consumer::new("alive"), lease, JoinKind::First).await.unwrap();
    let mut beats = tokio::time::interval(alive.beat_interval());
    let recovered = loop {
        beats.tick().await;
        let found = alive.beat().await.unwrap();
        if found.recovered > 0 {
            break found.recovered;
        }
    };
    assert_eq!(recovered, 1);
    let settled = dead.settle(taken.claim, Settlement::Complete { status: 200, answer: None }).await.unwrap();
    assert_eq!(settled, SettleResult::Fenced);
    assert!(matches!(dead.take(1).await.unwrap(), Take::Fenced));
    assert!(dead.beat().await.unwrap().fenced);
    let taken = take_one(&alive).await;
    alive.settle(taken.claim, Settlement::Complete { status: 200, answer: None }).await.unwrap();
    assert_eq!(bucket.census().await.unwrap().replicas.len(), 1);
    alive.leave().await.unwrap();
    assert_eq!(bucket.census().await.unwrap().level, 0);
}

#[tokio::test]
async fn a_take_that_hands_out_jobs_counts_as_a_heartbeat() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    for (kind, name) in [(Kind::Stream, "s"), (Kind::List, "l")] {
        let bucket = open(&redis, BucketSettings { kind, ..buckets::settings(name) }).await;
        let replica = join(&bucket, "a").await;
        let mut get = redis::cmd("HGETALL");
        get.arg(format!("dripfeed:{{{name}}}:replicas"));
        let beats = async || store.command::<BTreeMap<String, u64>>(&get).await.unwrap()["a"];
        let joined = beats().await;
        assert!(matches!(replica.take(1).await.unwrap(), Take::Idle(_)));
        assert_eq!(beats().await, joined, "nothing is called, so nothing need be kept from others");
        submit(&bucket, buckets::job("x")).await;
        take_one(&replica).await;
        assert_eq!(beats().await, joined + 1);
    }
}

#[tokio::test]
async fn delay_and_deadline_are_kept_by_the_redis_clock() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let replica = join(&bucket, "a").await;
    let mut late = buckets::job("late");
    late.start = dripfeed_job::StartTime::After(Duration::from_hours(1));
    let late = submit(&bucket, late).await;
    assert_eq!(bucket.find(late.id).await.unwrap().unwrap().state, JobState::Waiting);
    assert!(takes_nothing(&replica).await);
    assert_eq!(bucket.find(late.id).await.unwrap().unwrap().state, JobState::Parked);
    let mut short = buckets::job("short");
    short.expires_in = Some(Duration::from_millis(1));
    let short = submit(&bucket, short).await;
    tokio::time::sleep(Duration::from_millis(3)).await;
    assert!(takes_nothing(&replica).await);
    assert_eq!(bucket.find(short.id).await.unwrap().unwrap().state, JobState::Ended(Ending::Expired));
    assert_eq!(bucket.jobs(&JobFilter::default(), None, 10).await.unwrap().items.len(), 1);
    assert_eq!(bucket.purge().await.unwrap(), 1);
    assert_eq!(bucket.census().await.unwrap().level, 0);
}

#[tokio::test]
async fn the_pace_is_shared_and_held() {
    let redis = TestRedis::start().await;
    let mut settings = buckets::settings("b");
    settings.leak.rate = Some("1/h".parse().unwrap());
    settings.leak.burst = 3;
    let bucket = open(&redis, settings).await;
    for answer in bucket.admit_many((0..6).map(|n| buckets::job(n.to_string())).collect()).await {
        admitted(answer);
    }
    let a = join(&bucket, "a").await;
    let b = join(&bucket, "b").await;
    assert_eq!(take(&a, 2).await.len(), 2);
    let mut last = take(&b, 2).await;
    assert_eq!(last.len(), 1);
    assert!(takes_nothing(&a).await);
    bucket.apply_overrides(&changed("leak.rate", "1000/s")).await.unwrap();
    b.settle(last.remove(0).claim, Settlement::Throttled { wait: Some(Duration::from_mins(1)) }).await.unwrap();
    assert!(takes_nothing(&a).await);
    let census = bucket.census().await.unwrap();
    assert_eq!((census.pace.reason, census.parked, census.in_flight), ("held", 1, 2));
}

#[tokio::test]
async fn one_key_makes_one_job() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let keyed = |body: &str| {
        let mut job = buckets::job(body);
        job.idempotency_key = dripfeed_job::idempotency::IdempotencyKey::parse("k").ok();
        job
    };
    let answers = bucket.admit_many((0..100).map(|_| keyed("same")).collect()).await;
    let ids: std::collections::HashSet<_> = answers.into_iter().map(|answer| admitted(answer).id).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(refused(bucket.admit(keyed("other")).await).reason, RefusalReason::IdempotencyConflict);
    assert_eq!(bucket.census().await.unwrap().level, 1);
}

#[tokio::test]
async fn a_parked_job_that_somebody_claims_by_hand_is_in_flight() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let replica = join(&bucket, "a").await;
    let id = submit(&bucket, buckets::job("x")).await.id;
    settle(&replica, take_one(&replica).await, Settlement::Retry { after: Duration::from_hours(1) }).await;
    redis.ask::<redis::Value>(&format!("XCLAIM dripfeed:{{b}}:jobs processors by-hand 0 {id}")).await;
    let found = bucket.find(id).await.unwrap().expect("it is there");
    assert_eq!((found.state, found.consumer.as_deref(), found.due_ms), (JobState::InFlight, Some("by-hand"), None));
    let cancelled = tokio::time::timeout(PATIENCE, bucket.cancel(id)).await;
    assert_eq!(cancelled.expect("it ends").unwrap(), CancelResult::InFlight);
}
