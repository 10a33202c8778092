//! The result of each job of a batch.

use std::time::Duration;

use dripfeed_job::JobId;
use http::StatusCode;
use serde_json::Value as Json;

use crate::client_error::ClientError;
use crate::problem::Problem;

/// Between tries, when nobody says how long to wait.
pub(crate) const USUAL_WAIT: Duration = Duration::from_secs(1);

/// The result of each job of a batch, in order.
#[derive(Debug)]
pub struct SentBatch {
    pub items: Vec<ItemResult>,
    /// Why some jobs are [`Left`](ItemResult::Left).
    pub error: Option<ClientError>,
}

#[derive(Clone, Debug)]
pub enum ItemResult {
    Accepted(JobId),
    /// For good.
    Refused(Problem),
    /// Not accepted in time, or with unknown outcome; see [`SentBatch::error`]. Pushing it again with the same
    /// idempotency key is safe.
    Left,
}

impl SentBatch {
    pub(crate) fn of(items: usize) -> Self {
        Self { items: vec![ItemResult::Left; items], error: None }
    }

    /// The ids of the accepted jobs.
    pub fn accepted(&self) -> impl Iterator<Item = JobId> {
        self.items.iter().filter_map(|item| if let ItemResult::Accepted(id) = item { Some(*id) } else { None })
    }

    pub(crate) fn refuse(&mut self, index: usize, problem: Problem) {
        if let Some(item) = self.items.get_mut(index) {
            *item = ItemResult::Refused(problem);
        }
    }

    pub(crate) fn failed(self, error: ClientError) -> Self {
        Self { error: Some(error), ..self }
    }
}

/// Enters what is settled; returns what is to be sent again, and why: by the one that may be sent first.
pub(crate) fn judged(
    asked: &[usize],
    judgements: Vec<Json>,
    items: &mut [ItemResult],
) -> (Vec<usize>, Option<Problem>) {
    let (mut left, mut later) = (Vec::new(), None::<Problem>);
    let mut judgements = judgements.into_iter();
    for index in asked {
        // An item without a judgement has an unknown fate: its key makes it safe to send again.
        let mut judgement = judgements.next().unwrap_or_default();
        let settled = match judgement["id"].as_str().and_then(|id| id.parse().ok()) {
            Some(id) => ItemResult::Accepted(id),
            None => {
                let problem = Problem::of_document(status(&judgement), judgement["problem"].take());
                if problem.is_retryable() {
                    left.push(*index);
                    // The first of them to have room again is worth a try.
                    later = Some(later.map_or(problem.clone(), |earlier| sooner(earlier, problem)));
                    continue;
                }
                ItemResult::Refused(problem)
            }
        };
        if let Some(item) = items.get_mut(*index) {
            *item = settled;
        }
    }
    (left, later)
}

fn status(judgement: &Json) -> StatusCode {
    let status = judgement["status"].as_u64().and_then(|status| u16::try_from(status).ok());
    status.and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or(StatusCode::SERVICE_UNAVAILABLE)
}

fn sooner(one: Problem, other: Problem) -> Problem {
    if wait_of(&other) < wait_of(&one) { other } else { one }
}

pub(crate) fn wait_of(problem: &Problem) -> Duration {
    problem.retry_after.unwrap_or(USUAL_WAIT)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_are_settled_one_by_one_and_the_rest_is_sent_again() {
        let problem = |code: &str, wait: u64| json!({"code": code, "retry_after_ms": wait});
        let judgements = vec![
            json!({"status": 202, "id": "1-0"}),
            json!({"status": 429, "problem": problem("bucket_full", 500)}),
            json!({"status": 422, "problem": problem("bad_option", 0)}),
            json!({"status": 429, "problem": problem("caller_limit", 300)}),
        ];
        let mut sent = SentBatch::of(6);
        let (left, later) = judged(&[0, 2, 3, 4, 5], judgements, &mut sent.items);
        assert_eq!((left, later.map(|problem| problem.code).as_deref()), (vec![2, 4, 5], Some("caller_limit")));
        assert_eq!(sent.accepted().collect::<Vec<_>>(), [JobId::new(1, 0)]);
        assert!(matches!(sent.items.as_slice(), [_, ItemResult::Left, ItemResult::Left, ItemResult::Refused(_), ..]));
    }
}
