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

/// At least this often, whatever is known.
const LONGEST: Duration = Duration::from_secs(5);
/// What was refused is tried again after as long as the refusal says, within these.
const AGAIN: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(2));
/// Looks at one bucket that found work, before others have their turn.
const MOST_LOOKS: usize = 10;
/// Intakes look at a tick one after the other, where they can: the first one submits all jobs of it, and is the first
/// again at the next tick. Long enough for what is due at one time in most buckets, and short beside the time that
/// thousands of jobs take.
const APART: Duration = Duration::from_millis(20);
/// While another intake submits what is due: for that one to get ahead.
const BEHIND: Duration = Duration::from_millis(100);

/// What stays due for now.
#[derive(Default)]
struct Left {
    schedules: usize,
    again_in: Option<Duration>,
    is_full: bool,
    /// Most of what was due, another intake submits now.
    is_of_another: bool,
    /// Jobs of ticks that this intake submitted, and those that another one did.
    submitted: usize,
    gone: usize,
}

/// After a look at the schedules of a bucket.
pub(super) struct Looked {
    pub(super) again_in: Duration,
    /// Whether this intake submitted what was due last, so that it is the first one at the next tick.
    pub(super) is_first: bool,
}

/// Submits what is due; `is_first` as it was after the last look.
pub(super) async fn look(intake: &Intake, bucket: &Bucket, is_first: bool) -> Result<Looked, BucketError> {
    let looked = submit_due(intake, bucket, is_first).await;
    // Maybe nobody else uses the bucket, so that nobody else would open it again.
    intake.or_current(bucket, looked, |bucket| async move { submit_due(intake, &bucket, is_first).await }).await.1
}

async fn submit_due(intake: &Intake, bucket: &Bucket, mut is_first: bool) -> Result<Looked, BucketError> {
    let (mut after, mut again_in, mut busy) = (0, LONGEST, 0);
    while busy < MOST_LOOKS {
        let found = bucket.due_schedules(after).await?;
        if found.due.is_empty() && found.unreadable == 0 {
            let next = found.next_ms.map(|next| Duration::from_millis(next.saturating_sub(found.now_ms)));
            let behind = if is_first { Duration::ZERO } else { APART.mul_f64(fastrand::f64()) };
            let again_in = again_in.min(next.map_or(LONGEST, |next| next + behind));
            return Ok(Looked { again_in, is_first });
        }
        let (due, unreadable) = (found.due.len(), found.unreadable);
        let left = submit(intake, bucket, found).await?;
        after += left.schedules + unreadable;
        busy += usize::from(left.schedules < due);
        again_in = left.again_in.map_or(again_in, |again| again_in.min(again));
        is_first = left.submitted > left.gone || is_first && left.submitted == left.gone;
        if left.is_full {
            return Ok(Looked { again_in, is_first });
        }
        if left.is_of_another {
            let again_in = again_in.min(BEHIND + 2 * BEHIND.mul_f64(fastrand::f64()));
            return Ok(Looked { again_in, is_first });
        }
    }
    Ok(Looked { again_in: Duration::ZERO, is_first })
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
    // Behind one that is refused, the later ticks of the same schedule are gone, too.
    left.is_of_another = left.schedules == 0 && left.gone > most;
    Ok(left)
}

enum Ticks {
    Jobs(Vec<TickJob>),
    None(Step),
}

/// None: they stay due. The caller that defined it may not submit any more.
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
                let wait = retry_after.unwrap_or(AGAIN.1).clamp(AGAIN.0, AGAIN.1);
                self.again_in = Some(self.again_in.map_or(wait, |before| before.min(wait)));
            }
        }
    }
}
