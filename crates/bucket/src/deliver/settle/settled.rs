//! What a settlement recorded.

use dripfeed_job::JobId;

use super::ended_attempt::BoxedAttempt;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    Recorded,
    /// The job is to be dead-lettered, and waits in the bucket for room among the dead letters. If the first answer of
    /// Redis was lost, this is reported as `Recorded`.
    WaitsForRoom,
    /// Another replica has ended the job meanwhile, as Redis had lost the claim. Nothing was recorded. If the first
    /// answer of Redis was lost, this is reported as `Recorded`.
    EndedBefore,
    /// The replica was declared dead: another one has the job, and nothing was changed.
    Fenced,
}

impl Settled {
    /// The result of each attempt of a batch, in order, from the script's answer.
    pub(crate) fn each_of(answer: &str, batch: &[BoxedAttempt]) -> Vec<Self> {
        if answer == "fenced" {
            return vec![Self::Fenced; batch.len()];
        }
        let words = || answer.split(' ').skip(1);
        let waiting: Vec<JobId> = words().filter_map(|id| id.parse().ok()).collect();
        let over: Vec<JobId> = words().filter_map(|word| word.strip_prefix('=')?.parse().ok()).collect();
        let settled = |id| match id {
            id if waiting.contains(id) => Self::WaitsForRoom,
            id if over.contains(id) => Self::EndedBefore,
            _ => Self::Recorded,
        };
        batch.iter().map(|ended| settled(&ended.claim.id)).collect()
    }
}
