//! Submits the jobs to the target bucket.

use dripfeed_job::JobId;

use super::Mover;
use super::plan::MovePlan;
use crate::admission::{Admission, AdmissionDecision, RefusalReason, Refused};
use crate::error::BucketError;

/// The result of moving a job.
pub(super) enum MoveResult {
    /// With the id of the new job. `None` if the deadline of the job has passed.
    Ended(Option<JobId>),
    Left(String),
    Later(Refused),
}

impl Mover {
    /// Returns the results in the order of `plans`. If the other bucket didn't answer for one, they end before it.
    pub(super) async fn admit(&self, plans: Vec<MovePlan>) -> (Vec<MoveResult>, Option<BucketError>) {
        let mut submissions = Vec::new();
        let mut others = Vec::new();
        for plan in plans {
            others.push(match plan {
                MovePlan::Move(submission, deadline_ms) => {
                    submissions.push((*submission, deadline_ms));
                    None
                }
                MovePlan::Expire => Some(MoveResult::Ended(None)),
                MovePlan::Leave(why) => Some(MoveResult::Left(why)),
            });
        }
        let mut judged = self.into.admit_accepted(submissions).await.into_iter();
        let mut results = Vec::new();
        for other in others {
            let result = match other {
                Some(result) => Ok(result),
                None => {
                    judged.next().unwrap_or(Err(BucketError::Closing)).map_or_else(refusal, |judged| Ok(result(judged)))
                }
            };
            match result {
                Ok(result) => results.push(result),
                Err(error) => return (results, Some(error)),
            }
        }
        (results, None)
    }
}

fn result(judged: AdmissionDecision) -> MoveResult {
    match judged.admission {
        Admission::Admitted(admitted) => MoveResult::Ended(Some(admitted.id)),
        Admission::Refused(refused) => match refused.reason {
            RefusalReason::NeverFits => MoveResult::Left("it is larger than the bucket's capacity_bytes".to_owned()),
            RefusalReason::IdempotencyConflict => {
                MoveResult::Left("its caller has another job with the idempotency key of this move".to_owned())
            }
            _ => MoveResult::Later(refused),
        },
    }
}

fn refusal(error: BucketError) -> Result<MoveResult, BucketError> {
    match error {
        unsupported @ BucketError::Unsupported(_) => Ok(MoveResult::Left(unsupported.to_string())),
        error => Err(error),
    }
}
