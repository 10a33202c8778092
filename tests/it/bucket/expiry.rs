//! Jobs whose deadline passes while no replica takes them. They end, their room is free again, and no other job ends.
//! The tests set the clock, so that none of them is too late for a deadline.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::{Ending, JobId, StartTime, Submission};
use dripfeed_store::ServerOptions;
use dripfeed_tests::buckets::{self, DELIVERED, admitted, job, join, open, settle, submit, take_one};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::wall_clock::WallClock;

const KINDS: [Kind; 2] = [Kind::Stream, Kind::List];
const SOON: Duration = Duration::from_mins(1);
const LATER: Duration = Duration::from_mins(20);

/// A Redis, and its clock.
async fn server() -> (TestRedis, WallClock) {
    let clock = WallClock::new();
    let options = ServerOptions { environment: clock.environment(), ..ServerOptions::default() };
    (TestRedis::with(options).await, clock)
}

async fn bucket_of(redis: &TestRedis, kind: Kind) -> Bucket {
    open(redis, BucketSettings { kind, capacity: 10_000, ..buckets::settings("b") }).await
}

fn expiring_in(lifetime: Duration) -> Submission {
    Submission { expires_in: Some(lifetime), ..job("x") }
}

async fn pause(bucket: &Bucket) {
    bucket.pause().await.unwrap();
}

/// Sets the clock of Redis this much later than it was when the test began.
async fn passes(redis: &TestRedis, clock: &WallClock, time: Duration) {
    redis.set_clock(clock, time.as_secs().try_into().unwrap()).await;
}

async fn expired(bucket: &Bucket) -> u64 {
    bucket.enforce_retention().await.unwrap().expired
}

async fn reason(bucket: &Bucket, id: JobId) -> (Option<String>, u32) {
    let ended = bucket.await_outcome(id, Duration::from_secs(9)).await.unwrap().expect("it has ended");
    assert_eq!(ended.outcome.result, Ending::Expired);
    (ended.outcome.reason, ended.outcome.attempts)
}

async fn is_sound(bucket: &Bucket) {
    let examined = bucket.examine(false).await.unwrap();
    assert!(examined.findings.is_empty() && examined.unchecked.is_empty(), "{examined:?}");
}

#[tokio::test]
async fn overdue_jobs_of_a_paused_bucket_give_back_their_room() {
    for kind in KINDS {
        let (redis, clock) = server().await;
        let bucket = bucket_of(&redis, kind).await;
        let replica = join(&bucket, "a").await;
        submit(&bucket, expiring_in(SOON)).await;
        let in_flight = take_one(&replica).await;
        pause(&bucket).await;
        submit(&bucket, job("no deadline")).await;
        submit(&bucket, expiring_in(LATER)).await;
        let overdue = submit(&bucket, Submission { caller: Some("shop".to_owned()), ..expiring_in(SOON) }).await.id;
        assert_eq!(expired(&bucket).await, 0, "{kind:?}: too early");
        passes(&redis, &clock, 2 * SOON).await;
        assert_eq!((expired(&bucket).await, expired(&bucket).await), (1, 0), "{kind:?}");
        assert_eq!(reason(&bucket, overdue).await, (Some("not started before its deadline".to_owned()), 0));
        assert_eq!(bucket.census().await.unwrap().level, 3, "{kind:?}: its room is free again");
        assert_eq!(redis.ask::<u64>("HEXISTS dripfeed:{b}:holders shop").await, 0);
        is_sound(&bucket).await;
        assert_eq!(settle(&replica, in_flight, DELIVERED).await, SettleResult::Recorded, "{kind:?}: it began in time");
    }
}

#[tokio::test]
async fn without_deadlines_no_expired_jobs_are_searched() {
    for kind in KINDS {
        let (redis, clock) = server().await;
        let bucket = bucket_of(&redis, kind).await;
        submit(&bucket, expiring_in(SOON)).await;
        passes(&redis, &clock, 2 * SOON).await;
        assert_eq!(expired(&bucket).await, 1, "{kind:?}");
        assert_eq!(redis.ask::<u64>("HEXISTS dripfeed:{b}:tally deadline").await, 0, "{kind:?}");
        submit(&bucket, job("x")).await;
        let before = redis.calls("evalsha").await;
        assert_eq!(expired(&bucket).await, 0);
        assert_eq!(redis.calls("evalsha").await - before, 1, "{kind:?}: that of the retention");
    }
}

#[tokio::test]
async fn parked_jobs_expire_except_those_with_a_failed_attempt() {
    let (redis, clock) = server().await;
    let bucket = bucket_of(&redis, Kind::Stream).await;
    let (dying, replica) = (join(&bucket, "dying").await, join(&bucket, "a").await);
    let orphaned = submit(&bucket, expiring_in(SOON)).await.id;
    take_one(&dying).await;
    let tried = submit(&bucket, expiring_in(SOON)).await.id;
    settle(&replica, take_one(&replica).await, Settlement::Retry { after: LATER }).await;
    let delayed = Submission { start: StartTime::After(2 * SOON), ..expiring_in(3 * SOON) };
    let delayed = submit(&bucket, delayed).await.id;
    let throttled = submit(&bucket, expiring_in(SOON)).await.id;
    settle(&replica, take_one(&replica).await, Settlement::Throttled { wait: Some(LATER) }).await;
    bucket.declare_dead(dying.consumer()).await.unwrap().expect("it doesn't beat");
    pause(&bucket).await;
    passes(&redis, &clock, 4 * SOON).await;
    assert_eq!(expired(&bucket).await, 3);
    let why = |text: &str| Some(text.to_owned());
    assert_eq!(reason(&bucket, orphaned).await, (why("its deadline passed after a replica had died with it"), 1));
    assert_eq!(reason(&bucket, throttled).await, (why("its deadline passed while its upstream throttled it"), 1));
    assert_eq!(reason(&bucket, delayed).await, (why("not started before its deadline"), 0));
    assert_eq!(bucket.find(tried).await.unwrap().map(|view| view.attempts), Some(1), "it is called again");
    assert_eq!(expired(&bucket).await, 0);
    is_sound(&bucket).await;
}

#[tokio::test]
async fn a_caller_that_waits_is_notified_of_the_expiry() {
    let (redis, clock) = server().await;
    let bucket = bucket_of(&redis, Kind::Stream).await;
    pause(&bucket).await;
    let id = submit(&bucket, expiring_in(SOON)).await.id;
    let (ended, ()) = tokio::join!(bucket.await_outcome(id, LATER), async {
        while redis.ask::<u64>("ZCARD dripfeed:{b}:notices").await == 0 {}
        passes(&redis, &clock, 2 * SOON).await;
        assert_eq!(expired(&bucket).await, 1);
    });
    assert_eq!(ended.unwrap().map(|ended| ended.outcome.result), Some(Ending::Expired));
}

#[tokio::test]
async fn a_full_outbox_keeps_overdue_jobs_until_it_has_room() {
    let (redis, clock) = server().await;
    let target = OutcomeTarget { bucket: "done".parse().unwrap(), outcomes: vec![Ending::Expired] };
    let on_outcome = OnOutcome { targets: vec![target], most: 2, bytes: 16 << 20 };
    let bucket = open(&redis, BucketSettings { on_outcome, ..buckets::settings("b") }).await;
    pause(&bucket).await;
    for _ in 0..5 {
        submit(&bucket, expiring_in(SOON)).await;
    }
    passes(&redis, &clock, 2 * SOON).await;
    assert_eq!((expired(&bucket).await, expired(&bucket).await), (2, 0));
    assert_eq!(redis.ask::<u64>("XLEN dripfeed:{b}:outbox").await, 2);
    assert_eq!(bucket.census().await.unwrap().level, 3);
    redis.ask::<u64>("DEL dripfeed:{b}:outbox").await;
    assert_eq!(expired(&bucket).await, 2);
}

/// One round reads a bounded number of jobs, and the next one goes on after them.
#[tokio::test]
async fn a_look_through_many_jobs_takes_several_rounds() {
    const JOBS: usize = 6000;
    for kind in KINDS {
        let (redis, clock) = server().await;
        let bucket = bucket_of(&redis, kind).await;
        pause(&bucket).await;
        let mut jobs = vec![expiring_in(SOON); JOBS - 2];
        jobs.extend([job("no deadline"), expiring_in(LATER)]);
        for batch in jobs.chunks(1000) {
            bucket.admit_many(batch.to_vec()).await.into_iter().map(admitted).for_each(drop);
        }
        passes(&redis, &clock, 2 * SOON).await;
        let before = redis.calls("evalsha").await;
        let first = expired(&bucket).await;
        assert!((1000..JOBS as u64 - 2).contains(&first), "{kind:?}: {first}");
        let calls = redis.calls("evalsha").await - before;
        assert!(calls <= 30, "{kind:?}: {calls} scripts");
        let mut all = first;
        for _ in 0..10 {
            all += expired(&bucket).await;
        }
        assert_eq!(all, JOBS as u64 - 2, "{kind:?}");
        assert_eq!(bucket.census().await.unwrap().level, 2);
        is_sound(&bucket).await;
    }
}

/// Changes the tally to that of an earlier version, which counts no deadlines.
async fn forget_deadlines(redis: &TestRedis) {
    assert_eq!(redis.ask::<u64>("HDEL dripfeed:{b}:tally deadline deadline_known").await, 2);
}

#[tokio::test]
async fn overdue_jobs_of_an_earlier_version_are_looked_for_once_a_part_at_a_time() {
    const JOBS: usize = 6000;
    for kind in KINDS {
        let (redis, clock) = server().await;
        let bucket = bucket_of(&redis, kind).await;
        pause(&bucket).await;
        let mut jobs = vec![job("no deadline"); JOBS - 2];
        jobs.extend([expiring_in(SOON), expiring_in(SOON)]);
        for batch in jobs.chunks(1000) {
            bucket.admit_many(batch.to_vec()).await.into_iter().map(admitted).for_each(drop);
        }
        forget_deadlines(&redis).await;
        passes(&redis, &clock, 2 * SOON).await;
        let before = redis.calls("evalsha").await;
        let mut ended = expired(&bucket).await;
        let calls = redis.calls("evalsha").await - before;
        assert!(calls <= 30, "{kind:?}: {calls} scripts");
        for _ in 0..3 {
            ended += expired(&bucket).await;
        }
        assert_eq!(ended, 2, "{kind:?}");
        // The next search comes with the next deadline, after an upgrade is over. Until then no script searches.
        let next: u64 = redis.ask("HGET dripfeed:{b}:tally deadline").await;
        let now: u64 = redis.ask::<(u64, u64)>("TIME").await.0 * 1000;
        assert!((now..=now + 3_601_000).contains(&next), "{kind:?}: {next} at {now}");
        let before = redis.calls("evalsha").await;
        assert_eq!((expired(&bucket).await, redis.calls("evalsha").await - before), (0, 1), "{kind:?}");
        is_sound(&bucket).await;
    }
}

#[tokio::test]
async fn a_job_of_a_list_that_comes_back_expires_although_nothing_else_waited() {
    let (redis, clock) = server().await;
    let bucket = bucket_of(&redis, Kind::List).await;
    let dying = join(&bucket, "dying").await;
    submit(&bucket, expiring_in(LATER)).await;
    take_one(&dying).await;
    submit(&bucket, expiring_in(SOON)).await;
    passes(&redis, &clock, 2 * SOON).await;
    assert_eq!(expired(&bucket).await, 1);
    pause(&bucket).await;
    bucket.declare_dead(dying.consumer()).await.unwrap().expect("it doesn't beat");
    passes(&redis, &clock, LATER + SOON).await;
    assert_eq!(expired(&bucket).await, 1);
    assert_eq!(redis.ask::<u64>("HEXISTS dripfeed:{b}:tally deadline").await, 0, "no job is left");
}
