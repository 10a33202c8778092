//! `POST …/jobs/batch`: submits many jobs in one request; each is accepted or refused independently.

pub(crate) mod item;
mod legible;
mod schema;
mod split;

use std::collections::BTreeMap;
use std::time::Instant;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use dripfeed_auth::{Caller, Submit, Waiter};
use dripfeed_bucket::{Admitted, Bucket, Origin};
use dripfeed_job::{JobId, Submission};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::openapi::{Content, Ref, RefOr};
use utoipa::{IntoResponses, ToSchema};

use self::split::Form;
use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::{Problem, ProblemDocument};
use crate::request::access::BucketAccess;
use crate::request::body::{self, Sender};
use crate::request::client_ip::ClientIp;
use crate::submit::admit::{count_refusal, counted, judge, judge_many_in_current};
use crate::submit::options;
use crate::submit::priority::capped;
use crate::submit::ratelimit_fields::of_judgement;
use crate::submit::span::SubmissionSpan;

/// Submits many jobs in one request, as NDJSON or as a JSON array. Malformed JSON refuses the whole batch; otherwise
/// each item is accepted or refused independently. Numbers of any size are passed on unchanged; an item nested more
/// than 127 deep, or with half of a surrogate pair, is refused.
#[utoipa::path(
    post, path = "/v1/buckets/{bucket}/jobs/batch", tag = "jobs", params(parameters::Bucket),
    operation_id = "submit_batch",
    request_body(
        content((schema::BatchItems = "application/json"), (schema::BatchItem = "application/x-ndjson")),
        description = "Items, as an array or one per line"
    ),
    responses(
        (status = 202, description = "All items were accepted", body = BatchResult),
        (status = 207, description = "Some items were accepted", body = BatchResult),
        BatchRefusals,
    )
)]
pub(crate) async fn batch(
    State(intake): State<Intake>,
    BucketAccess { caller, bucket, .. }: BucketAccess<Submit>,
    ClientIp(address): ClientIp,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let read =
        counted(&intake, bucket.name(), read(&intake, Sender { caller: &caller, address }, &headers, body).await)?;
    admit_all(&intake, &bucket, &caller, Origin { headers, address }, read).await
}

async fn read(
    intake: &Intake,
    sender: Sender<'_>,
    headers: &HeaderMap,
    body: Body,
) -> Result<Vec<Result<Submission, Problem>>, Problem> {
    options::none_here(headers, "in a batch, set options in the items")?;
    let form = Form::of(headers)?;
    let body = body::read(sender, body, intake).await?;
    let (now, traceparent) = (Timestamp::now(), options::traceparent(headers));
    let (most, caller) = (intake.settings().max_batch, sender.caller.id().map(str::to_owned));
    let items = move |body: &Bytes| {
        let read = |(index, text): (usize, &str)| {
            let mut submission = item::read(body, text, index, now)?;
            submission.caller.clone_from(&caller);
            submission.traceparent.clone_from(&traceparent);
            Ok(submission)
        };
        Ok(split::items(body, form, most)?.into_iter().enumerate().map(read).collect())
    };
    body::parse(body, items).await
}

/// Admits all valid items in one call, and responds for all items in order.
async fn admit_all(
    intake: &Intake,
    bucket: &Bucket,
    caller: &Caller,
    origin: Origin,
    read: Vec<Result<Submission, Problem>>,
) -> Result<Response, Problem> {
    let mut submissions = Vec::with_capacity(read.len());
    // A problem for an invalid item; None for one that the bucket decides on.
    let invalid: Vec<Option<Problem>> = read
        .into_iter()
        .map(|item| item.and_then(|submission| capped(caller, bucket, submission)))
        .map(|item| item.map(|submission| submissions.push(submission)).err())
        .collect();
    let begun = Instant::now();
    let bytes = submissions.iter().map(|submission| submission.body.len()).sum();
    let span = SubmissionSpan::begin(intake, bucket, &mut submissions);
    let turn =
        intake.submissions().take_for_jobs(Waiter::new(caller.id(), origin.address), submissions.len(), bytes).await;
    let judging = {
        let (intake, bucket) = (intake.clone(), bucket.clone());
        async move { judge_many_in_current(&intake, &bucket, submissions, origin).await }
    };
    let admissions = turn.run(judging).await?;
    intake.metrics().admitted_in(bucket.name(), begun.elapsed(), span.trace());
    span.end_of_many(bucket.name(), &admissions);

    let last = admissions.iter().rev().find_map(|judged| judged.as_ref().ok());
    let limits = last.map(|judged| of_judgement(judged, intake.settings())).unwrap_or_default();
    let mut admissions = admissions.into_iter();
    let items = invalid.into_iter().map(|invalid| match invalid {
        Some(problem) => counted(intake, bucket.name(), Err(problem)),
        None => admissions.next().map_or_else(
            || Err(Problem::internal()),
            |judged| {
                count_refusal(intake, bucket.name(), caller.id(), &judged);
                judge(intake, bucket.name(), judged)
            },
        ),
    });
    let judged = BatchResult::of(items.map(BatchItemResult::from).collect());
    let mut response = (judged.status(), Json(&judged)).into_response();
    response.headers_mut().extend(judged.retry_after());
    response.headers_mut().extend(limits);
    Ok(response)
}

/// One result per item, in order.
#[derive(Serialize, ToSchema)]
struct BatchResult {
    accepted: usize,
    refused: usize,
    items: Vec<BatchItemResult>,
}

#[derive(Serialize, ToSchema)]
#[serde(untagged)]
enum BatchItemResult {
    Admitted(BatchItemAdmitted),
    Refused(BatchItemRefused),
}

#[derive(Serialize, ToSchema)]
struct BatchItemAdmitted {
    /// 202.
    status: u16,
    #[schema(value_type = String, example = "1700000000000-0")]
    id: JobId,
}

#[derive(Serialize, ToSchema)]
struct BatchItemRefused {
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
    fn of(items: Vec<BatchItemResult>) -> Self {
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
    fn status(&self) -> StatusCode {
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

    fn retry_after(&self) -> Option<(HeaderName, HeaderValue)> {
        let longest = self.problems().filter_map(Problem::retry_after_s).max()?;
        Some((header::RETRY_AFTER, HeaderValue::from(longest)))
    }
}

/// Error responses: when no item was admitted, they have the results as content.
struct BatchRefusals;

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
        BatchItemResult::from(Ok(Admitted { id, level: 1, capacity: 1, eta: Duration::ZERO, repeated: false }))
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
