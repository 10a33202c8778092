//! Everything that can happen to a job, in sequence.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_job::schedule::{Policy, Timetable};
use dripfeed_job::{StartTime, Submission};
use dripfeed_store::{Durability, ServerInfo, Store};

use crate::buckets::{self, DELIVERED, buried, changed, join, settle, submit, take, take_one, takes_nothing};

/// Settings of a bucket that dead-letters jobs during which its replica died.
#[must_use]
pub fn settings(name: &str, kind: Kind) -> BucketSettings {
    let attempts = if kind == Kind::Stream { 3 } else { 1 };
    let mut settings = buckets::settings(name);
    settings.retry.attempts = attempts;
    BucketSettings { kind, deliveries: 1, ..settings }
}

/// A schedule from its definition to its end.
async fn schedule(bucket: &Bucket, store: &Store) {
    let (id, job) = ("yearly".parse().expect("a name"), buckets::job("x"));
    let timetable = Timetable::every(Duration::from_hours(366 * 24)).expect("a period");
    let before = ScheduleChanges::default().newer(store).await.unwrap().unwrap_or_default();
    let new = |known, tick| NewSchedule {
        id: &id,
        known,
        definition: "{}",
        job: &job,
        paused: false,
        next: NextTick::At(tick),
    };
    assert!(matches!(bucket.define_schedule(&new(None, 1000)).await.unwrap(), DefineScheduleResult::Done(_)));
    assert!(before.newer(store).await.unwrap().unwrap().of.contains_key(bucket.name().as_str()));
    let found = bucket.due_schedules(0).await.unwrap();
    let step = Policy::default().steps(&timetable, 1000, found.now_ms)[0];
    let tick = TickJob::new(&found.due[0], step, true, job.clone()).expect("a tick");
    let [TickEnd::Submitted(submitted)] = bucket.submit_ticks(vec![tick]).await.unwrap()[..] else {
        panic!("there is room")
    };
    assert!(bucket.cancel(submitted).await.is_ok());
    let (_, known) = bucket.schedule(&id).await.unwrap();
    assert!(matches!(bucket.define_schedule(&new(known.as_ref(), 1000)).await.unwrap(), DefineScheduleResult::Done(_)));
    let found = bucket.due_schedules(0).await.unwrap();
    assert_eq!(bucket.pass_ticks(&[(&found.due[0], step)]).await.unwrap(), [true]);
    let listed = bucket.schedules(None, 10).await.unwrap().items;
    assert!(bucket.switch_schedule(&listed[0], true, None).await.unwrap().is_some());
    assert_eq!(bucket.end_schedule(&id, None).await.unwrap(), EndScheduleResult::Done);
    assert_eq!(bucket.end_all_schedules().await.unwrap(), 0);
}

/// Everything that jobs and operators can do with both kinds of buckets.
///
/// # Panics
/// When a step fails.
pub async fn go_all_ways(bucket: &Bucket, store: &Store) {
    ServerInfo::gather(store, Durability::Process).await.expect("INFO");
    let replica = join(bucket, "a").await;
    let keyed = Submission { idempotency_key: IdempotencyKey::parse("k").ok(), ..buckets::job("keyed") };
    let first = submit(bucket, keyed.clone()).await;
    assert!(submit(bucket, keyed).await.repeated);
    assert!(bucket.find(first.id).await.unwrap().is_some());
    assert_eq!(bucket.jobs(&JobFilter::default(), None, 10).await.unwrap().items.len(), 1);
    let taken = take_one(&replica).await;
    let (ended, _) = tokio::join!(bucket.await_outcome(first.id, Duration::from_secs(9)), async {
        let mut registered = redis::cmd("EXISTS");
        registered.arg(format!("dripfeed:{{{}}}:notices", bucket.name()));
        while store.command::<u64>(&registered).await.expect("Redis answers") == 0 {}
        settle(&replica, taken, DELIVERED).await
    });
    assert!(ended.unwrap().is_some());
    schedule(bucket, store).await;

    let dead = submit(bucket, buckets::job("dead")).await;
    settle(&replica, take_one(&replica).await, buried("no luck")).await;
    assert_eq!(bucket.dead_letters(&DeadFilter::default(), None, 10).await.unwrap().items.len(), 1);
    assert!(matches!(bucket.replay(dead.id).await.unwrap(), ReplayResult::As(_)));
    let again = take_one(&replica).await;
    let id = again.claim.id();
    settle(&replica, again, buried("no luck")).await;
    assert!(bucket.dead_letter(id).await.unwrap().is_some());
    assert!(bucket.delete_dead(id).await.unwrap());
    submit(bucket, buckets::job("replayed")).await;
    settle(&replica, take_one(&replica).await, buried("no luck")).await;
    let replay = bucket.start_replay(DeadFilter::default(), None, None).await.unwrap().expect("none is running");
    buckets::resume_replays(bucket).await;
    let replayed = loop {
        match replica.take(1).await.unwrap() {
            Take::Jobs(mut jobs, _) => break jobs.pop().expect("a job"),
            Take::Idle(idle) => replica.wait(&idle).await,
            Take::Fenced => panic!("it lives"),
        }
    };
    // The replay may already have ended.
    assert_ne!(bucket.cancel_replay(replay).await.unwrap(), CancelReplayResult::Unknown);
    settle(&replica, replayed, buried("no luck")).await;
    assert_eq!(bucket.delete_dead_many(&DeadFilter::default()).await.unwrap(), 1);

    submit(bucket, buckets::job("returned")).await;
    settle(&replica, take_one(&replica).await, Settlement::Requeue).await;
    settle(&replica, take_one(&replica).await, DELIVERED).await;

    let expiring = Submission { expires_in: Some(Duration::from_millis(1)), ..buckets::job("late") };
    submit(bucket, expiring).await;
    tokio::time::sleep(Duration::from_millis(2)).await;
    assert!(takes_nothing(&replica).await);

    let cancelled = submit(bucket, buckets::job("cancelled")).await;
    assert_eq!(bucket.cancel(cancelled.id).await.unwrap(), CancelResult::Cancelled);
    submit(bucket, buckets::job("matches")).await;
    assert_eq!(bucket.cancel_many(&JobFilter::default()).await.unwrap(), 1);
    submit(bucket, buckets::job("purged")).await;
    assert_eq!(bucket.purge().await.unwrap(), 1);

    submit(bucket, buckets::job("left behind")).await;
    let gone = join(bucket, "gone").await;
    take(&gone, 1).await;
    assert!(!replica.beat().await.unwrap().fenced);
    assert!(bucket.declare_dead(&Consumer::new("gone")).await.unwrap().is_some());

    bucket.pause().await.unwrap();
    bucket.resume().await.unwrap();
    for capacity in [Some(7), None] {
        bucket.apply_overrides(&changed("capacity", capacity)).await.unwrap();
    }
    bucket.census().await.unwrap();
    let page = bucket.outcomes(TimeWindow::default(), None, None, 1).await.unwrap();
    assert!(!bucket.outcomes(TimeWindow::default(), None, page.next.as_ref(), 10).await.unwrap().items.is_empty());
    bucket.report(Duration::from_hours(1)).await.unwrap();
    bucket.sample_history(&CallStats::default()).await.unwrap();
    bucket.history(HistoryWindow::Hour).await.unwrap();
    // Unknown on Redis 6.2.
    assert_eq!(bucket.denied().await.unwrap().unwrap_or_default(), Vec::<String>::new());

    // Ended jobs and idempotency keys expire at once.
    let configured = bucket.settings();
    let mut settings = BucketSettings::clone(&configured);
    (settings.keep.outcomes, settings.keep.idempotency_keys) = (Duration::ZERO, Duration::ZERO);
    bucket.reconfigure(settings);
    let forgotten = Submission { idempotency_key: IdempotencyKey::parse("f").ok(), ..buckets::job("forgotten") };
    bucket.cancel(submit(bucket, forgotten).await.id).await.unwrap();
    bucket.enforce_retention().await.unwrap();
    assert!(bucket.find(first.id).await.unwrap().is_none());
    bucket.reconfigure(BucketSettings::clone(&configured));
    replica.leave().await.unwrap();
}

/// What only stream buckets support. `admin` is a store with all permissions.
///
/// # Panics
/// When a step fails.
pub async fn go_the_ways_of_a_stream(bucket: &Bucket, admin: &Store) {
    let replica = join(bucket, "s").await;
    submit(bucket, buckets::job("again")).await;
    settle(&replica, take_one(&replica).await, Settlement::Retry { after: Duration::ZERO }).await;
    settle(&replica, take_one(&replica).await, Settlement::Throttled { wait: Some(Duration::from_millis(1)) }).await;
    submit(bucket, Submission { start: StartTime::After(Duration::from_hours(1)), ..buckets::job("later") }).await;
    // Until throttling has ended, because it isn't interrupted by a new entry.
    tokio::time::sleep(Duration::from_millis(2)).await;
    let idle = loop {
        match replica.take(1).await.unwrap() {
            Take::Idle(idle) => break idle,
            Take::Jobs(jobs, _) => {
                for job in jobs {
                    settle(&replica, job, DELIVERED).await;
                }
            }
            Take::Fenced => panic!("it lives"),
        }
    };
    let ((), rung) = tokio::join!(replica.wait(&idle), submit(bucket, buckets::job("bell")));
    assert!(rung.level > 0);

    // Damage by hand, which the doctor repairs.
    let mut strand = redis::cmd("XACK");
    let held = take_one(&replica).await;
    strand
        .arg(format!("dripfeed:{{{}}}:jobs", bucket.settings().name))
        .arg("processors")
        .arg(held.claim.id().to_string());
    admin.command::<u64>(&strand).await.unwrap();
    assert!(bucket.examine(true).await.unwrap().findings.iter().any(|finding| finding.kind == FindingKind::Stranded));

    // The second job waits for the first.
    for caller in ["one", "other"] {
        submit(bucket, Submission { caller: Some(caller.to_owned()), ..buckets::job("waits") }).await;
    }
    assert!(bucket.flows(10).await.unwrap().items.len() >= 2);
    bucket.purge().await.unwrap();
    own_pace(bucket, &replica).await;
    replica.leave().await.unwrap();
}

/// Limits per caller, and their changes, after which the state of callers is checked again, and removed.
async fn own_pace(bucket: &Bucket, replica: &Replica) {
    for rate in ["7/s", "8/s"] {
        bucket.apply_overrides(&changed("fair.rate", rate)).await.unwrap();
        submit(bucket, Submission { caller: Some(rate.to_owned()), ..buckets::job("own pace") }).await;
        settle(replica, take_one(replica).await, DELIVERED).await;
    }
    bucket.apply_overrides(&changed("fair.rate", serde_json::Value::Null)).await.unwrap();
}
