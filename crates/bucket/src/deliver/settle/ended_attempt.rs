//! The result of an attempt, and how its job is settled.

use std::time::Duration;

use dripfeed_job::JobId;
use dripfeed_job::duration::ms_up;
use dripfeed_job::outcome::AnswerBody;
use dripfeed_job::outcome::failed_attempt::FailedAttempt;

use crate::deliver::take::Claim;
use crate::script::pace_constants::{LATE_CALL, REFUSED_CALL};
use crate::settings::{Keep, Leak};

/// How to settle a claimed job.
#[derive(Clone, Debug)]
pub enum Settlement {
    Complete {
        status: u16,
        answer: Option<AnswerBody>,
    },
    /// The attempt failed: retry after the delay. In a list, which has no retries, the job is dead-lettered.
    Retry {
        after: Duration,
    },
    /// The upstream asked to wait, for `wait` if it named a time. The bucket is throttled, the job is due after that,
    /// and the attempt isn't counted.
    Throttled {
        wait: Option<Duration>,
    },
    /// Not called, or aborted by this process: requeued at once, without counting an attempt.
    Requeue,
    Bury {
        reason: String,
        status: Option<u16>,
        answer: Option<AnswerBody>,
        called: bool,
    },
}

impl Settlement {
    /// The delay until the job is due again. `None` if it has ended, or the script decides.
    pub(crate) const fn due_again(&self) -> Option<Duration> {
        match self {
            Self::Retry { after } => Some(*after),
            Self::Requeue => Some(Duration::ZERO),
            Self::Complete { .. } | Self::Throttled { .. } | Self::Bury { .. } => None,
        }
    }
}

/// Feedback of an attempt about the upstream, independent of the job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Feedback {
    /// The call timed out.
    pub timed_out: bool,
    /// The upstream's quota is used up for this long: the bucket is throttled.
    pub exhausted_for: Option<Duration>,
    /// The failed call. `None` if it succeeded, or none was made.
    pub failed: Option<FailedCall>,
}

/// How a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCall {
    pub status: Option<u16>,
    pub reason: String,
    pub answer: Option<AnswerBody>,
}

pub(crate) struct EndedAttempt {
    pub(super) claim: Claim,
    pub(super) settlement: Settlement,
    pub(super) feedback: Feedback,
    pub(super) lasted: Duration,
}

/// The reason of a dead letter whose own reason can't be recorded.
const UNRECORDED: &str = "recording why the job is dead panicked in the processor; this is a bug, please report it";

/// Boxed, because attempts are moved between queues.
pub(crate) type BoxedAttempt = Box<EndedAttempt>;

impl EndedAttempt {
    pub(crate) fn boxed(claim: Claim, settlement: Settlement, feedback: Feedback) -> BoxedAttempt {
        let lasted = claim.taken_at.elapsed();
        Box::new(Self { claim, settlement, feedback, lasted })
    }

    /// Removes what comes from the upstream, which may be the cause if the attempt can't be recorded.
    pub(super) fn remove_answer(&mut self) {
        self.feedback.failed = None;
        match &mut self.settlement {
            Settlement::Complete { answer, .. } => *answer = None,
            Settlement::Bury { reason, answer, .. } => {
                *answer = None;
                UNRECORDED.clone_into(reason);
            }
            Settlement::Retry { .. } | Settlement::Throttled { .. } | Settlement::Requeue => {}
        }
    }

    /// How the upstream reacted to the call, in the words of the script.
    pub(super) fn reaction(&self) -> &'static str {
        match self.settlement {
            _ if !self.was_called() => "",
            Settlement::Throttled { .. } => REFUSED_CALL,
            _ if self.feedback.timed_out => LATE_CALL,
            _ => "answered",
        }
    }

    /// For how long the bucket is to be throttled, in ms.
    pub(super) fn throttle_ms(&self, leak: &Leak) -> u64 {
        let wait = match self.settlement {
            Settlement::Throttled { wait } => Some(wait.unwrap_or(leak.default_hold)),
            _ => self.feedback.exhausted_for,
        };
        wait.map_or(0, |wait| ms_up(wait.min(leak.max_hold)))
    }

    /// The record of the failed attempt; empty if it didn't fail, or records aren't kept.
    pub(super) fn failed_line(&self, consumer: &str, keep: &Keep) -> String {
        let Some(failed) = self.feedback.failed.clone().filter(|_| keep.failed_attempts > 0) else {
            return String::new();
        };
        let is_last = matches!(self.settlement, Settlement::Bury { .. });
        let attempt = FailedAttempt {
            attempt: self.claim.failures.saturating_add(1),
            at_ms: self.claim.taken_ms,
            took_ms: ms_up(self.lasted),
            replica: consumer.to_owned(),
            status: failed.status,
            reason: failed.reason,
            // The answer to the last attempt is in the outcome.
            answer: failed.answer.filter(|_| !is_last && keep.failed_answer_bytes > 0),
        };
        attempt.to_line(keep.failed_answer_bytes)
    }

    /// Status and body of the answer that completes the job.
    pub(super) fn answer(&self) -> Option<(u16, Option<&AnswerBody>)> {
        match &self.settlement {
            Settlement::Complete { status, answer } => Some((*status, answer.as_ref())),
            _ => None,
        }
    }

    pub(super) fn was_called(&self) -> bool {
        !matches!(self.settlement, Settlement::Requeue | Settlement::Bury { called: false, .. })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettleResult {
    Recorded,
    /// The job is to be dead-lettered, and waits in the bucket for room among the dead letters. If the first answer of
    /// Redis was lost, this is reported as `Recorded`.
    WaitsForRoom,
    /// The replica was declared dead: another one has the job, and nothing was changed.
    Fenced,
}

impl SettleResult {
    /// The result of each attempt of a batch, in order, from the script's answer.
    pub(crate) fn each_of(answer: &str, batch: &[BoxedAttempt]) -> Vec<Self> {
        if answer == "fenced" {
            return vec![Self::Fenced; batch.len()];
        }
        let waiting: Vec<JobId> = answer.split(' ').skip(1).filter_map(|id| id.parse().ok()).collect();
        let settled = |id| if waiting.contains(id) { Self::WaitsForRoom } else { Self::Recorded };
        batch.iter().map(|ended| settled(&ended.claim.id)).collect()
    }
}
