//! How an attempt ended, and what becomes of its job.

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
    /// The upstream asked to wait: the bucket is throttled, the job is due after that, and the attempt isn't counted.
    /// None: the upstream named no time.
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
    /// The delay until the job may be claimed again. None: decided elsewhere, or never.
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
    /// The record of a failed call. None: it succeeded, or none was made.
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

/// Of one that was to be dead-lettered for another reason.
const UNRECORDED: &str = "recording why the job is dead panicked in the processor; this is a bug, please report it";

/// As it is moved from queue to batch and on.
pub(crate) type BoxedAttempt = Box<EndedAttempt>;

impl EndedAttempt {
    pub(crate) fn boxed(claim: Claim, settlement: Settlement, feedback: Feedback) -> BoxedAttempt {
        let lasted = claim.taken_at.elapsed();
        Box::new(Self { claim, settlement, feedback, lasted })
    }

    /// Without what an upstream has said, which may be what can't be recorded.
    pub(super) fn leave_answer_out(&mut self) {
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

    /// How the upstream took the call, in the words of the script.
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
        let asked = match self.settlement {
            Settlement::Throttled { wait } => Some(wait.unwrap_or(leak.default_hold)),
            _ => self.feedback.exhausted_for,
        };
        asked.map_or(0, |asked| ms_up(asked.min(leak.max_hold)))
    }

    /// As it is kept; '' where it isn't.
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
            // The outcome has the last one.
            answer: failed.answer.filter(|_| !is_last && keep.failed_answer_bytes > 0),
        };
        attempt.to_line(keep.failed_answer_bytes)
    }

    /// Status and body, where that completes the job.
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
pub enum Settled {
    Recorded,
    /// It is to be dead-lettered, and waits in the bucket for room among the dead letters. Where the answer of Redis
    /// was lost at first, `Recorded` instead.
    WaitsForRoom,
    /// The replica was declared dead: another one has the job, and nothing was changed.
    Fenced,
}

impl Settled {
    /// What became of each of a batch, in order, by the answer of the script.
    pub(crate) fn each_of(words: &str, batch: &[BoxedAttempt]) -> Vec<Self> {
        if words == "fenced" {
            return vec![Self::Fenced; batch.len()];
        }
        let waiting: Vec<JobId> = words.split(' ').skip(1).filter_map(|id| id.parse().ok()).collect();
        let settled = |id| if waiting.contains(id) { Self::WaitsForRoom } else { Self::Recorded };
        batch.iter().map(|ended| settled(&ended.claim.id)).collect()
    }
}
