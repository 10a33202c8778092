//! Submits the jobs of a bucket's due ticks.

use std::time::Duration;

use dripfeed_bucket::{Bucket, BucketError, DueSchedules, KnownSchedule, RefusalReason, TickEnd, TickJob};
use dripfeed_job::schedule::{Overlap, Step};

use super::definition::Definition;
use super::owned;
use super::tick_counts::TickCounts;
use crate::intake::Intake;
use crate::metrics::TickOutcome;
use crate::submit::priority::cap;

/// Maximum time between two reads of a bucket's schedules.
const MAX_INTERVAL: Duration = Duration::from_secs(5);
/// Minimum and maximum time until a refused job is tried again; within them, the refusal decides.
const RETRY_RANGE: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));
/// How often a bucket with work is read before others have their turn.
const MAX_READS: usize = 10;
/// The other intakes read a due tick this long after the intake that submitted the last one, so that one intake submits
/// all of its jobs. Long enough for the jobs that most buckets have at one time, and short compared to the time that
/// thousands of jobs take.
const STAGGER: Duration = Duration::from_millis(20);
/// Pause while another intake submits the due jobs, so that it can get ahead.
const YIELD_DELAY: Duration = Duration::from_millis(100);

/// What is left after a read.
#[derive(Default)]
struct Left {
    schedules: usize,
    again_in: Option<Duration>,
    is_full: bool,
    /// Whether another intake is submitting most of the due jobs.
    is_of_another: bool,
    /// Jobs that this intake submitted (`submitted`), and those that another one did (`gone`).
    submitted: usize,
    gone: usize,
}

/// The result of a read of a bucket's schedules.
pub(super) struct RoundResult {
    pub(super) again_in: Duration,
    /// Whether this intake submitted the last due jobs, so that it reads the next tick first.
    pub(super) is_first: bool,
}

/// Submits the due jobs of a bucket; `is_first` is that of the last [`RoundResult`].
pub(super) async fn submit_due_jobs(
    intake: &Intake,
    bucket: &Bucket,
    is_first: bool,
) -> Result<RoundResult, BucketError> {
    // If only schedules use the bucket, nothing else opens it again.
    let submit_due = |bucket| async move { submit_due(intake, &bucket, is_first).await };
    intake.in_current(bucket.clone(), submit_due).await.1
}

async fn submit_due(intake: &Intake, bucket: &Bucket, mut is_first: bool) -> Result<RoundResult, BucketError> {
    let (mut after, mut again_in, mut busy) = (0, MAX_INTERVAL, 0);
    while busy < MAX_READS {
        let found = bucket.due_schedules(after).await?;
        if found.due.is_empty() && found.unreadable == 0 {
            let next = found.next_ms.map(|next| Duration::from_millis(next.saturating_sub(found.now_ms)));
            let behind = if is_first { Duration::ZERO } else { STAGGER.mul_f64(fastrand::f64()) };
            let again_in = again_in.min(next.map_or(MAX_INTERVAL, |next| next + behind));
            return Ok(RoundResult { again_in, is_first });
        }
        let (due, unreadable) = (found.due.len(), found.unreadable);
        let left = submit(intake, bucket, found).await?;
        after += left.schedules + unreadable;
        busy += usize::from(left.schedules < due);
        again_in = left.again_in.map_or(again_in, |again| again_in.min(again));
        is_first = left.submitted > left.gone || is_first && left.submitted == left.gone;
        if left.is_full {
            return Ok(RoundResult { again_in, is_first });
        }
        if left.is_of_another {
            let again_in = again_in.min(YIELD_DELAY + 2 * YIELD_DELAY.mul_f64(fastrand::f64()));
            return Ok(RoundResult { again_in, is_first });
        }
    }
    Ok(RoundResult { again_in: Duration::ZERO, is_first })
}

async fn submit(intake: &Intake, bucket: &Bucket, found: DueSchedules) -> Result<Left, BucketError> {
    let (mut left, mut jobs, mut passed) = (Left::default(), Vec::new(), Vec::new());
    let due = Definition::of_known(found.due).await?;
    for (schedule, definition) in &due {
        let ticks = match definition {
            Some(definition) => ticks(intake, bucket, schedule, definition, found.now_ms).await?,
            None => None,
        };
        match ticks {
            Some(Ticks::Jobs(of_one)) => jobs.extend(of_one),
            Some(Ticks::None(step)) => passed.push((schedule, step)),
            None => left.schedules += 1,
        }
    }
    if !passed.is_empty() {
        let done = bucket.pass_ticks(&passed).await?;
        let missed = passed.iter().zip(done).filter(|(_, done)| *done).map(|((_, step), _)| step.missed).sum();
        intake.metrics().ticked(bucket.name(), TickOutcome::Missed, missed);
    }
    let missed: Vec<u64> = jobs.iter().map(TickJob::missed).collect();
    let ends = bucket.submit_ticks(jobs).await?;
    let most = ends.len() / 2;
    let mut counts = TickCounts::default();
    for (end, missed) in ends.into_iter().zip(missed) {
        left.note(end);
        counts.add(end, missed);
    }
    counts.report(intake, bucket);
    // If a job is refused, the later ticks of its schedule count as `gone`, too.
    left.is_of_another = left.schedules == 0 && left.gone > most;
    Ok(left)
}

enum Ticks {
    Jobs(Vec<TickJob>),
    None(Step),
}

/// Returns `None`, which leaves the ticks due, if the caller that defined the schedule may no longer submit.
async fn ticks(
    intake: &Intake,
    bucket: &Bucket,
    schedule: &KnownSchedule,
    definition: &Definition,
    now_ms: u64,
) -> Result<Option<Ticks>, BucketError> {
    let highest = owned::highest_priority(intake, bucket, definition);
    let (Some(highest), Some(next_ms)) = (highest, schedule.next_ms) else { return Ok(None) };
    let job_for = |tick| cap(highest, bucket, definition.job_for(tick));
    let steps = definition.steps(next_ms, now_ms).await?;
    let may_overlap = definition.policy.overlap == Overlap::Allow;
    Ok(match steps[..] {
        [] => None,
        [step @ Step { tick: None, .. }, ..] => Some(Ticks::None(step)),
        _ => Some(Ticks::Jobs(
            steps.iter().filter_map(|step| TickJob::new(schedule, *step, may_overlap, job_for(step.tick?))).collect(),
        )),
    })
}

impl Left {
    fn note(&mut self, end: TickEnd) {
        match end {
            TickEnd::Submitted(_) => self.submitted += 1,
            TickEnd::Gone => self.gone += 1,
            TickEnd::Missed | TickEnd::Overlapped => {}
            TickEnd::Refused { reason, retry_after } => {
                self.schedules += 1;
                self.is_full |= reason == RefusalReason::BucketFull;
                let wait = retry_after.unwrap_or(RETRY_RANGE.1).clamp(RETRY_RANGE.0, RETRY_RANGE.1);
                self.again_in = Some(self.again_in.map_or(wait, |before| before.min(wait)));
            }
        }
    }
}
