//! One tick, one job: a tick of a schedule has one job, however many intakes there are, whatever dies meanwhile, and
//! whatever their clocks show; and ticks that couldn't be submitted in time are handled as the schedule configures.

/// Clocks of Redis and of the intakes' machines that are set.
mod clocks;
/// Random histories.
mod histories;
/// Whole intakes, used over the API.
mod intakes;
/// Ticks without room for their jobs, or without an intake that submits them.
mod missed;
/// Owners of schedules, and when schedules end.
mod owners;
/// Several intakes that submit the same ticks at once.
mod racing;

use std::time::Duration;

use dripfeed_bucket::{Bucket, DefineScheduleResult, DueSchedules, NewSchedule, NextTick, TickEnd, TickJob};
use dripfeed_job::schedule::{Overlap, Policy, ScheduleId, Timetable};
use dripfeed_tests::buckets;
use dripfeed_tests::redis_server::TestRedis;

const NEXT: &str = "dripfeed:{b}:schedules:next";

/// A period in seconds, so long that no tick comes during a test.
const LONG: u64 = 366 * 86_400;

fn id(name: &str) -> ScheduleId {
    name.parse().expect("a name")
}

fn every(seconds: u64) -> Timetable {
    Timetable::every(Duration::from_secs(seconds)).expect("a period")
}

/// The Redis clock, in ms.
async fn now_ms(redis: &TestRedis) -> u64 {
    let (seconds, us): (u64, u64) = redis.ask("TIME").await;
    seconds * 1000 + us / 1000
}

/// Defines a schedule whose next tick is at `next`.
async fn define(bucket: &Bucket, name: &str, next: u64) {
    let (_, known) = bucket.schedule(&id(name)).await.expect("Redis answers");
    let new = NewSchedule {
        id: &id(name),
        known: known.as_ref(),
        definition: "{}",
        job: &buckets::job("x"),
        paused: false,
        next: NextTick::At(next),
    };
    assert!(matches!(bucket.define_schedule(&new).await.expect("Redis answers"), DefineScheduleResult::Done(_)));
}

/// One round of an intake: it looks for due ticks, and submits their jobs.
async fn round(bucket: &Bucket, timetable: &Timetable, policy: Policy) -> Vec<TickEnd> {
    submit(bucket, look(bucket).await, timetable, policy).await
}

async fn look(bucket: &Bucket) -> DueSchedules {
    bucket.due_schedules(0).await.expect("Redis answers")
}

async fn submit(bucket: &Bucket, found: DueSchedules, timetable: &Timetable, policy: Policy) -> Vec<TickEnd> {
    let (mut jobs, mut passed) = (Vec::new(), Vec::new());
    for schedule in &found.due {
        for step in policy.steps(timetable, schedule.next_ms.expect("it is due"), found.now_ms) {
            let job = step.tick.map(|tick| buckets::job(tick.to_string())).unwrap_or_default();
            match TickJob::new(schedule, step, policy.overlap == Overlap::Allow, job) {
                Some(job) => jobs.push(job),
                None => passed.push((schedule, step)),
            }
        }
    }
    if !passed.is_empty() {
        bucket.pass_ticks(&passed).await.expect("Redis answers");
    }
    bucket.submit_ticks(jobs).await.expect("Redis answers")
}
