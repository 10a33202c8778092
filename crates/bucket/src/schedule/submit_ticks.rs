//! Submits the jobs of ticks, each exactly once.

use std::sync::Arc;
use std::time::Duration;

use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_job::schedule::{ScheduleId, Step};
use dripfeed_job::{JobId, Submission};

use super::known_schedule::KnownSchedule;
use crate::admission::tick::{Tick, TickResult};
use crate::admission::{Admission, RefusalReason};
use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::constants::{BATCH_BYTES, BATCH_JOBS, BATCH_TIERS};

/// The job of a tick.
#[derive(Clone, Debug)]
pub struct TickJob {
    id: ScheduleId,
    version: String,
    step: Step,
    tick: u64,
    may_overlap: bool,
    submission: Submission,
}

/// The result of a tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickEnd {
    Submitted(JobId),
    /// Not submitted: its idempotency key belongs to another job.
    Missed,
    /// Skipped: the job of an earlier tick is still in the bucket.
    Overlapped,
    /// Another call has handled the tick, the schedule was changed, or the tick isn't due by the Redis clock.
    Gone,
    /// Refused for now. The tick stays due.
    Refused {
        reason: RefusalReason,
        retry_after: Option<Duration>,
    },
}

impl TickJob {
    /// Returns `None` if the step has no tick that gets a job.
    #[must_use]
    pub fn new(schedule: &KnownSchedule, step: Step, may_overlap: bool, job: Submission) -> Option<Self> {
        let tick = step.tick?;
        let key = format!("schedule/{}/{tick}", schedule.id);
        let submission = Submission { idempotency_key: IdempotencyKey::parse(&key).ok(), ..job };
        let (id, version) = (schedule.id.clone(), schedule.state.version.clone());
        Some(Self { id, version, step, tick, may_overlap, submission })
    }

    /// Ticks before this one that get no job.
    #[must_use]
    pub const fn missed(&self) -> u64 {
        self.step.missed
    }
}

impl Bucket {
    /// Submits the jobs in their order, with as many script calls as are needed. Returns the results in the same order.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time: what was submitted until then stays.
    pub async fn submit_ticks(&self, jobs: Vec<TickJob>) -> Result<Vec<TickEnd>, BucketError> {
        let mut ends = Vec::with_capacity(jobs.len());
        let mut jobs = jobs.into_iter().peekable();
        while jobs.peek().is_some() {
            let (mut batch, mut bytes, mut tiers) = (Vec::new(), 0, 0);
            while let Some(job) = jobs.next_if(|job| {
                bytes += job.submission.body.len();
                batch.is_empty() || batch.len() < BATCH_JOBS && bytes <= BATCH_BYTES && tiers < BATCH_TIERS
            }) {
                let tick = Tick {
                    id: job.id,
                    version: job.version,
                    from: job.step.from,
                    tick: job.tick,
                    next: job.step.next,
                    missed: job.step.missed,
                    may_overlap: job.may_overlap,
                };
                let mut request = self.redis_bucket.admission_request(Box::new(job.submission), Arc::default()).await?;
                request.tick = Some(Box::new(tick));
                tiers += request.tiers();
                batch.push(request);
            }
            ends.extend(self.redis_bucket.admit_for_ticks(batch).await?.into_iter().map(TickEnd::from));
        }
        Ok(ends)
    }
}

impl From<TickResult> for TickEnd {
    fn from(ticked: TickResult) -> Self {
        match ticked {
            TickResult::Gone => Self::Gone,
            TickResult::Overlapped => Self::Overlapped,
            TickResult::Judged(Admission::Admitted(admitted)) => Self::Submitted(admitted.id),
            TickResult::Judged(Admission::Refused(refused)) => match refused.reason {
                RefusalReason::IdempotencyConflict => Self::Missed,
                reason => Self::Refused { reason, retry_after: refused.retry_after },
            },
        }
    }
}
