//! The result of each job of a batch.

use std::time::Duration;

use dripfeed_job::JobId;
use http::StatusCode;
use serde_json::Value as Json;

use crate::client_error::ClientError;
use crate::problem::Problem;

/// Wait between tries if the answer has no `Retry-After`.
pub(crate) const DEFAULT_WAIT: Duration = Duration::from_secs(1);

/// The result of each job of a batch, in order.
#[derive(Debug)]
pub struct SentBatch {
    pub items: Vec<ItemResult>,
    /// Why some jobs are [`Unresolved`](ItemResult::Unresolved).
    pub error: Option<ClientError>,
}

#[derive(Clone, Debug)]
pub enum ItemResult {
    Accepted(JobId),
    /// Permanently.
    Refused(Problem),
    /// Not accepted in time, or the result is unknown: see [`SentBatch::error`]. It is safe to push the job again with
    /// the same idempotency key.
    Unresolved,
}

impl SentBatch {
    pub(crate) fn of(items: usize) -> Self {
        Self { items: vec![ItemResult::Unresolved; items], error: None }
    }

    /// Returns the ids of the accepted jobs.
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

/// Writes the final results of the tried items to `items`. Returns the indices of those to send again, and the problem
/// with the shortest wait among them.
pub(crate) fn record_results(
    tried: &[usize],
    results: Vec<Json>,
    items: &mut [ItemResult],
) -> (Vec<usize>, Option<Problem>) {
    let (mut left, mut retry) = (Vec::new(), None::<Problem>);
    let mut results = results.into_iter();
    for index in tried {
        // Without a result it is unknown whether the item was stored: its idempotency key makes it safe to send again.
        let mut result = results.next().unwrap_or_default();
        let settled = match result["id"].as_str().and_then(|id| id.parse().ok()) {
            Some(id) => ItemResult::Accepted(id),
            None => {
                let problem = Problem::of_document(status(&result), result["problem"].take());
                if problem.is_retryable() {
                    left.push(*index);
                    retry = Some(retry.map_or(problem.clone(), |earlier| sooner(earlier, problem)));
                    continue;
                }
                ItemResult::Refused(problem)
            }
        };
        if let Some(item) = items.get_mut(*index) {
            *item = settled;
        }
    }
    (left, retry)
}

fn status(result: &Json) -> StatusCode {
    let status = result["status"].as_u64().and_then(|status| u16::try_from(status).ok());
    status.and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or(StatusCode::SERVICE_UNAVAILABLE)
}

fn sooner(one: Problem, other: Problem) -> Problem {
    if wait_of(&other) < wait_of(&one) { other } else { one }
}

pub(crate) fn wait_of(problem: &Problem) -> Duration {
    problem.retry_after.unwrap_or(DEFAULT_WAIT)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn items_are_settled_one_by_one_and_the_rest_is_sent_again() {
        let problem = |code: &str, wait: u64| json!({"code": code, "retry_after_ms": wait});
        let results = vec![
            json!({"status": 202, "id": "1-0"}),
            json!({"status": 429, "problem": problem("bucket_full", 500)}),
            json!({"status": 422, "problem": problem("bad_option", 0)}),
            json!({"status": 429, "problem": problem("caller_limit", 300)}),
        ];
        let mut sent = SentBatch::of(6);
        let (left, retry) = record_results(&[0, 2, 3, 4, 5], results, &mut sent.items);
        assert_eq!((left, retry.map(|problem| problem.code).as_deref()), (vec![2, 4, 5], Some("caller_limit")));
        assert_eq!(sent.accepted().collect::<Vec<_>>(), [JobId::new(1, 0)]);
        assert!(matches!(
            sent.items.as_slice(),
            [_, ItemResult::Unresolved, ItemResult::Unresolved, ItemResult::Refused(_), ..]
        ));
    }
}
