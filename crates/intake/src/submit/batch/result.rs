//! The answer to a batch: one result per item, in order.

use std::collections::BTreeMap;

use dripfeed_bucket::Admitted;
use dripfeed_job::JobId;
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;
use utoipa::openapi::{Content, Ref, RefOr};
use utoipa::{IntoResponses, ToSchema};

use crate::openapi::responses;
use crate::problem::{Problem, ProblemDocument};

/// The approximate size of the result of an item that the bucket refuses.
const REFUSED_BYTES: usize = 512;

/// The maximum size of the response, before the bucket has decided. `invalid`: the problems of invalid items.
pub(super) fn expected_bytes(invalid: &[Option<Problem>]) -> usize {
    let bytes_of = |problem: &Problem| serde_json::to_vec(problem).map_or(REFUSED_BYTES, |text| text.len());
    invalid.iter().map(|invalid| invalid.as_ref().map_or(REFUSED_BYTES, bytes_of)).sum()
}

/// One result per item, in order.
#[derive(Serialize, ToSchema)]
pub(super) struct BatchResult {
    accepted: usize,
    refused: usize,
    items: Vec<BatchItemResult>,
}

#[derive(Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum BatchItemResult {
    Admitted(BatchItemAdmitted),
    Refused(BatchItemRefused),
}

#[derive(Serialize, ToSchema)]
pub(super) struct BatchItemAdmitted {
    /// 202.
    status: u16,
    #[schema(value_type = String, example = "1700000000000-0")]
    id: JobId,
}

#[derive(Serialize, ToSchema)]
pub(super) struct BatchItemRefused {
    /// The status of a single submission of this item.
    status: u16,
    #[schema(value_type = ProblemDocument<'static>)]
    problem: Box<Problem>,
}

impl From<Result<Admitted, Problem>> for BatchItemResult {
    fn from(judged: Result<Admitted, Problem>) -> Self {
        match judged {
            Ok(admitted) => {
                Self::Admitted(BatchItemAdmitted { status: StatusCode::ACCEPTED.as_u16(), id: admitted.id })
            }
            Err(problem) => {
                let status = problem.code().status().as_u16();
                Self::Refused(BatchItemRefused { status, problem: Box::new(problem) })
            }
        }
    }
}

impl BatchResult {
    pub(super) fn of(items: Vec<BatchItemResult>) -> Self {
        let accepted = items.iter().filter(|item| matches!(item, BatchItemResult::Admitted(_))).count();
        Self { accepted, refused: items.len() - accepted, items }
    }

    fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.items.iter().filter_map(|item| match item {
            BatchItemResult::Admitted(_) => None,
            BatchItemResult::Refused(refused) => Some(refused.problem.as_ref()),
        })
    }

    /// When no item was admitted: 429 if any was refused for capacity, else a server error if any, else 422.
    pub(super) fn status(&self) -> StatusCode {
        match (self.accepted, self.refused) {
            (_, 0) => return StatusCode::ACCEPTED,
            (1.., _) => return StatusCode::MULTI_STATUS,
            (0, _) => {}
        }
        let statuses = || self.problems().map(|problem| problem.code().status());
        if statuses().any(|status| status == StatusCode::TOO_MANY_REQUESTS) {
            return StatusCode::TOO_MANY_REQUESTS;
        }
        statuses().filter(StatusCode::is_server_error).max().unwrap_or(StatusCode::UNPROCESSABLE_ENTITY)
    }

    pub(super) fn retry_after(&self) -> Option<(HeaderName, HeaderValue)> {
        let longest = self.problems().filter_map(Problem::retry_after_s).max()?;
        Some((header::RETRY_AFTER, HeaderValue::from(longest)))
    }
}

/// The error responses of the API description. If no item was admitted, they contain the results.
pub(super) struct BatchRefusals;

impl IntoResponses for BatchRefusals {
    fn responses() -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
        let mut responses = responses::OfBatch::responses();
        for status in ["422", "429", "500", "503", "507"] {
            if let Some(RefOr::T(response)) = responses.get_mut(status) {
                let results = Content::new(Some(Ref::from_schema_name(BatchResult::name())));
                response.content.insert("application/json".to_owned(), RefOr::T(results));
            }
        }
        responses
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dripfeed_bucket::{RefusalReason, Refused};

    use super::*;
    use crate::problem::Code;

    fn admitted() -> BatchItemResult {
        let id = JobId::new(1, 0);
        BatchItemResult::from(Ok(Admitted {
            id,
            level: 1,
            capacity: 1,
            eta: Duration::ZERO,
            room_in: None,
            repeated: false,
        }))
    }

    fn full(retry_after_ms: u64) -> BatchItemResult {
        let retry_after = Some(Duration::from_millis(retry_after_ms));
        let refused = Refused { reason: RefusalReason::BucketFull, retry_after, level: 1, capacity: 1 };
        BatchItemResult::from(Err(Problem::refused(&refused)))
    }

    fn refused(code: Code) -> BatchItemResult {
        BatchItemResult::from(Err(Problem::new(code, "")))
    }

    fn status(items: impl Into<Vec<BatchItemResult>>) -> u16 {
        BatchResult::of(items.into()).status().as_u16()
    }

    #[test]
    fn the_status_summarises_the_items() {
        assert_eq!(status([admitted(), admitted()]), 202);
        assert_eq!(status([admitted(), full(1)]), 207);
        assert_eq!(status([refused(Code::BadItem), admitted()]), 207);
        assert_eq!(status([full(1), refused(Code::BadOption)]), 429);
        assert_eq!(status([refused(Code::BadItem), refused(Code::BadIdempotencyKey)]), 422);
        assert_eq!(status([refused(Code::BadItem), refused(Code::StoreUnavailable)]), 503);
        assert_eq!(status([refused(Code::StoreFull)]), 507);
    }

    #[test]
    fn retry_after_is_the_longest_of_the_items() {
        let wait = |items: Vec<BatchItemResult>| BatchResult::of(items).retry_after().map(|(_, value)| value);
        assert_eq!(wait(vec![full(1), full(2500), refused(Code::BadItem)]), Some(HeaderValue::from(3)));
        assert_eq!(wait(vec![refused(Code::BadItem)]), None);
    }
}
