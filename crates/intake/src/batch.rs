//! `POST …/jobs/batch`: hands in many jobs at once, each judged by itself.

mod item;
mod split;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use dripfeed_bucket::{Admitted, Bucket, Origin};
use dripfeed_job::{JobId, Submission};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use jiff::Timestamp;
use serde::Serialize;
use utoipa::openapi::{Content, Ref, RefOr};
use utoipa::{IntoResponses, ToSchema};

use self::split::Form;
use crate::address::Address;
use crate::admit::{counted, judge};
use crate::caller::{At, Caller, Submit};
use crate::intake::Intake;
use crate::problem::{Document, Problem};
use crate::rate_limit::Room;
use crate::{body, options, parameters, refusals};

/// Hands in many jobs at once, as NDJSON or as a JSON array. What isn't JSON is refused whole; of what is, each item is
/// judged by itself.
#[utoipa::path(
    post, path = "/v1/buckets/{bucket}/jobs/batch", tag = "jobs", params(parameters::Bucket),
    request_body(
        content((item::Items = "application/json"), (item::Item = "application/x-ndjson")),
        description = "Items, as an array or one a line"
    ),
    responses(
        (status = 202, description = "All were admitted", body = Judged),
        (status = 207, description = "Some were admitted", body = Judged),
        Refusals,
    )
)]
pub(crate) async fn batch(
    State(intake): State<Intake>,
    At { caller, bucket, .. }: At<Submit>,
    Address(address): Address,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let read = counted(&intake, bucket.name(), read(&intake, &caller, &headers, body).await)?;
    Ok(admit_all(&intake, &bucket, Origin { headers, address }, read).await)
}

async fn read(
    intake: &Intake,
    caller: &Caller,
    headers: &HeaderMap,
    body: Body,
) -> Result<Vec<Result<Submission, Problem>>, Problem> {
    options::none_here(headers, "in a batch, options go into the items")?;
    let form = Form::of(headers)?;
    let body = body::read(body, intake).await?;
    let texts = split::items(&body, form, intake.settings().max_batch)?;
    let (now, traceparent) = (Timestamp::now(), options::traceparent(headers));
    let read = |(index, text): (usize, &str)| {
        let mut submission = item::read(&body, text, index, now)?;
        submission.caller = caller.id().map(str::to_owned);
        submission.traceparent.clone_from(&traceparent);
        Ok(submission)
    };
    Ok(texts.into_iter().enumerate().map(read).collect())
}

/// Admits in one go what could be read, and answers for all items in their order.
async fn admit_all(
    intake: &Intake,
    bucket: &Bucket,
    origin: Origin,
    read: Vec<Result<Submission, Problem>>,
) -> Response {
    let mut submissions = Vec::with_capacity(read.len());
    // A problem for an item that couldn't be read; None for one whose judgement comes.
    let unread: Vec<Option<Problem>> =
        read.into_iter().map(|item| item.map(|submission| submissions.push(submission)).err()).collect();
    let begun = Instant::now();
    let admissions = bucket.judge_many(submissions, Arc::new(origin)).await;
    intake.metrics().admitted_in(bucket.name(), begun.elapsed());

    let room =
        admissions.iter().rev().find_map(|judged| judged.as_ref().ok()).map(|judged| Room::from(&judged.admission));
    let mut admissions = admissions.into_iter();
    let items = unread.into_iter().map(|unread| match unread {
        Some(problem) => counted(intake, bucket.name(), Err(problem)),
        None => {
            admissions.next().map_or_else(|| Err(Problem::internal()), |judged| judge(intake, bucket.name(), judged))
        }
    });
    let judged = Judged::of(items.map(Item::from).collect());
    let mut response = (judged.status(), Json(&judged)).into_response();
    response.headers_mut().extend(judged.retry_after());
    response.headers_mut().extend(room.into_iter().flat_map(|room| room.fields(intake.settings())));
    response
}

/// A result for each item, in order.
#[derive(Serialize, ToSchema)]
#[schema(as = BatchResult)]
struct Judged {
    accepted: usize,
    refused: usize,
    items: Vec<Item>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = BatchItemResult)]
#[serde(untagged)]
enum Item {
    Admitted {
        /// 202.
        status: u16,
        #[schema(value_type = String, example = "1700000000000-0")]
        id: JobId,
    },
    Refused {
        /// What the item alone would have been answered.
        status: u16,
        #[schema(value_type = Document<'static>)]
        problem: Box<Problem>,
    },
}

impl From<Result<Admitted, Problem>> for Item {
    fn from(judged: Result<Admitted, Problem>) -> Self {
        match judged {
            Ok(admitted) => Self::Admitted { status: StatusCode::ACCEPTED.as_u16(), id: admitted.id },
            Err(problem) => Self::Refused { status: problem.code().status().as_u16(), problem: Box::new(problem) },
        }
    }
}

impl Judged {
    fn of(items: Vec<Item>) -> Self {
        let accepted = items.iter().filter(|item| matches!(item, Item::Admitted { .. })).count();
        Self { accepted, refused: items.len() - accepted, items }
    }

    fn problems(&self) -> impl Iterator<Item = &Problem> {
        self.items.iter().filter_map(|item| match item {
            Item::Admitted { .. } => None,
            Item::Refused { problem, .. } => Some(problem.as_ref()),
        })
    }

    /// When none was admitted: 429 if there was no room for one, the failure if there was one, else they were all bad.
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

/// Where none was admitted, the results come with the status that tells why.
struct Refusals;

impl IntoResponses for Refusals {
    fn responses() -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
        let mut responses = refusals::OfBatch::responses();
        for status in ["422", "429", "500", "503", "507"] {
            if let Some(RefOr::T(response)) = responses.get_mut(status) {
                let results = Content::new(Some(Ref::from_schema_name(Judged::name())));
                response.content.insert("application/json".to_owned(), RefOr::T(results));
            }
        }
        responses
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use dripfeed_bucket::{Reason, Refused};

    use super::*;
    use crate::problem::Code;

    fn admitted() -> Item {
        let id = JobId::new(1, 0);
        Item::from(Ok(Admitted { id, level: 1, capacity: 1, eta: Duration::ZERO, repeated: false }))
    }

    fn full(retry_after_ms: u64) -> Item {
        let retry_after = Some(Duration::from_millis(retry_after_ms));
        let refused = Refused { reason: Reason::BucketFull, retry_after, level: 1, capacity: 1 };
        Item::from(Err(Problem::refused(&refused)))
    }

    fn refused(code: Code) -> Item {
        Item::from(Err(Problem::new(code, "")))
    }

    fn status(items: impl Into<Vec<Item>>) -> u16 {
        Judged::of(items.into()).status().as_u16()
    }

    #[test]
    fn the_status_tells_what_became_of_all() {
        assert_eq!(status([admitted(), admitted()]), 202);
        assert_eq!(status([admitted(), full(1)]), 207);
        assert_eq!(status([refused(Code::BadItem), admitted()]), 207);
        assert_eq!(status([full(1), refused(Code::BadOption)]), 429);
        assert_eq!(status([refused(Code::BadItem), refused(Code::BadIdempotencyKey)]), 422);
        assert_eq!(status([refused(Code::BadItem), refused(Code::StoreUnavailable)]), 503);
        assert_eq!(status([refused(Code::StoreFull)]), 507);
    }

    #[test]
    fn the_longest_wait_is_the_one_to_wait() {
        let wait = |items: Vec<Item>| Judged::of(items).retry_after().map(|(_, value)| value);
        assert_eq!(wait(vec![full(1), full(2500), refused(Code::BadItem)]), Some(HeaderValue::from(3)));
        assert_eq!(wait(vec![refused(Code::BadItem)]), None);
    }
}
