use std::collections::BTreeSet;

use dripfeed_bucket::{Bucket, BucketSettings, DefineScheduleResult, Kind, NewSchedule, NextTick, TickEnd};
use dripfeed_job::schedule::{Missed, Policy};
use dripfeed_tests::buckets::{self, DELIVERED, join, open, settle, take};
use dripfeed_tests::redis_server::TestRedis;
use futures::future::join_all;

use super::{LONG, NEXT, define, every, look, now_ms, submit};

const INTAKES: usize = 20;
const TICKS: u64 = 50;

fn submitted(ends: &[TickEnd]) -> u64 {
    ends.iter().filter(|end| matches!(end, TickEnd::Submitted(_))).count() as u64
}

/// Takes and settles all jobs. Returns their bodies.
async fn bodies(bucket: &Bucket, jobs: u64) -> Vec<String> {
    let replica = join(bucket, "r").await;
    let mut bodies = Vec::new();
    while bodies.len() < usize::try_from(jobs).unwrap() {
        for taken in take(&replica, 100).await {
            bodies.push(String::from_utf8_lossy(&taken.job.as_ref().unwrap().body).into_owned());
            settle(&replica, taken, DELIVERED).await;
        }
    }
    bodies
}

async fn twenty(redis: &TestRedis, settings: BucketSettings) -> Vec<Bucket> {
    join_all((0..INTAKES).map(|_| open(redis, settings.clone()))).await
}

/// All intakes look before any of them submits, repeatedly until nothing is due. Returns how many jobs were submitted.
async fn race(intakes: &[Bucket], policy: Policy) -> u64 {
    let mut count = 0;
    loop {
        let looks = join_all(intakes.iter().map(look)).await;
        if looks.iter().all(|look| look.due.is_empty()) {
            return count;
        }
        let timetable = every(LONG);
        let each = intakes.iter().zip(looks).map(|(bucket, found)| submit(bucket, found, &timetable, policy));
        count += join_all(each).await.iter().map(|ends| submitted(ends)).sum::<u64>();
    }
}

async fn each_tick_has_one_job(settings: BucketSettings) {
    let redis = TestRedis::start().await;
    let intakes = twenty(&redis, settings).await;
    let period = LONG * 1000;
    let first = now_ms(&redis).await / period * period - (TICKS - 1) * period;
    for name in ["one", "two", "three"] {
        define(&intakes[0], name, first).await;
    }
    let all = Policy { missed: Missed::All, ..Policy::default() };
    assert_eq!(race(&intakes, all).await, 3 * TICKS, "each was submitted once, and not found again by its key");
    let bodies = bodies(&intakes[0], 3 * TICKS).await;
    let ticks: BTreeSet<String> = (0..TICKS).map(|n| (first + n * period).to_string()).collect();
    assert_eq!(bodies.iter().cloned().collect::<BTreeSet<_>>(), ticks);
    assert_eq!(bodies.len() as u64, 3 * TICKS);

    // A tick that had its job gets no second one, even if somebody writes it as the next tick again.
    redis.ask::<u64>(&format!("ZADD {NEXT} {first} one")).await;
    assert_eq!(race(&intakes[..1], all).await, TICKS, "found again by their keys");
    assert_eq!(intakes[0].census().await.unwrap().level, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_intakes_submit_each_tick_once() {
    each_tick_has_one_job(BucketSettings { capacity: 1000, ..buckets::settings("b") }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_intakes_submit_each_tick_once_into_a_list() {
    each_tick_has_one_job(BucketSettings { capacity: 1000, kind: Kind::List, ..buckets::settings("b") }).await;
}

#[tokio::test]
async fn a_tick_that_has_not_come_by_the_clock_of_redis_has_no_job() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let now = now_ms(&redis).await;
    define(&bucket, "late", now - 1000).await;
    let found = bucket.due_schedules(0).await.unwrap();
    let ahead = Policy::default().steps(&every(LONG), now - 1000, found.now_ms + 2 * LONG * 1000);
    let job = dripfeed_bucket::TickJob::new(&found.due[0], ahead[0], true, buckets::job("x")).unwrap();
    assert_eq!(bucket.submit_ticks(vec![job]).await.unwrap(), [TickEnd::Gone], "an intake's clock is two hours ahead");
    assert_eq!(bucket.census().await.unwrap().level, 0);
}

#[tokio::test]
async fn a_schedule_that_is_another_one_by_now_submits_nothing_of_the_old_one() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    let tick = now_ms(&redis).await - 1000;
    define(&bucket, "s", tick).await;
    let found = bucket.due_schedules(0).await.unwrap();
    let step = Policy::default().steps(&every(LONG), tick, found.now_ms)[0];
    let job = || dripfeed_bucket::TickJob::new(&found.due[0], step, true, buckets::job("old")).unwrap();
    define(&bucket, "s", tick).await;
    assert_eq!(bucket.submit_ticks(vec![job()]).await.unwrap(), [TickEnd::Gone]);
    bucket.end_schedule(&super::id("s"), None).await.unwrap();
    assert_eq!(bucket.submit_ticks(vec![job()]).await.unwrap(), [TickEnd::Gone]);
    assert_eq!(bucket.pass_ticks(&[(&found.due[0], step)]).await.unwrap(), [false]);
    assert_eq!(bucket.census().await.unwrap().level, 0);
}

#[tokio::test]
async fn a_pause_that_meets_a_definition_stays() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    define(&bucket, "nightly", now_ms(&redis).await + LONG * 1000).await;
    let (id, job) = ("nightly".parse().expect("a name"), buckets::job("x"));
    let known = bucket.schedule(&id).await.unwrap().1.expect("it is there");
    assert!(bucket.switch_schedule(&known, true, None).await.unwrap().is_some());
    // A client that read the schedule before this change.
    let (paused, next) = (false, NextTick::Unchanged);
    let stale = NewSchedule { id: &id, known: Some(&known), definition: "{}", job: &job, paused, next };
    assert_eq!(bucket.define_schedule(&stale).await.unwrap(), DefineScheduleResult::Changed);
    assert!(bucket.schedule(&id).await.unwrap().1.expect("it is there").state.paused);
}

#[tokio::test]
async fn large_definitions_are_read_one_after_the_other() {
    const LARGE: usize = 1_500_000;
    let redis = TestRedis::start().await;
    let settings = BucketSettings { schedules_bytes: 1 << 30, ..buckets::settings("b") };
    let bucket = open(&redis, settings).await;
    let (tick, text) = (now_ms(&redis).await - 1000, "x".repeat(LARGE));
    let mut found = Vec::new();
    for name in ["one", "two", "three"] {
        let (id, job) = (super::id(name), buckets::job("x"));
        let next = NextTick::At(tick);
        let new = NewSchedule { id: &id, known: None, definition: &text, job: &job, paused: false, next };
        assert!(matches!(bucket.define_schedule(&new).await.unwrap(), DefineScheduleResult::Done(_)));
        found.push(look(&bucket).await.due.len());
    }
    assert_eq!(found, [1, 2, 1], "4 MiB at once, and more than that in parts");
    redis.ask::<u64>("HDEL dripfeed:{b}:tally schedules_bytes").await;
    assert_eq!(look(&bucket).await.due.len(), 1, "nobody knows how large they are");
}
