//! `POST …/jobs/batch`: submits many jobs in one request; each is accepted or refused independently.

mod interoperable;
pub(crate) mod item;
mod result;
mod schema;
mod split;

use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use dripfeed_auth::{Caller, LimitedCaller, Submit};
use dripfeed_bucket::{AdmissionDecision, Admitted, Bucket, BucketError, Origin};
use dripfeed_job::Submission;
use http::HeaderMap;
use jiff::Timestamp;

use self::result::{BatchItemResult, BatchRefusals, BatchResult, expected_bytes};
use self::split::BatchFormat;
use crate::intake::Intake;
use crate::openapi::parameters;
use crate::problem::Problem;
use crate::request::access::BucketAccess;
use crate::request::body::{self, Sender};
use crate::request::client_ip::ClientIp;
use crate::request::pagination::{NoParams, Params};
use crate::request::response_memory;
use crate::submit::admit::{count_problem, count_refused_caller, into_item_result};
use crate::submit::options;
use crate::submit::priority::check_and_cap;
use crate::submit::ratelimit_fields::all_fields;
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
    _: Params<NoParams>,
    ClientIp(address): ClientIp,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let items = read(&intake, Sender { caller: &caller, address }, &headers, body).await;
    let items = count_problem(&intake, bucket.name(), items)?;
    admit_all(&intake, &bucket, &caller, Origin { headers, address }, items).await
}

async fn read(
    intake: &Intake,
    sender: Sender<'_>,
    headers: &HeaderMap,
    body: Body,
) -> Result<Vec<Result<Submission, Problem>>, Problem> {
    options::refuse_options(headers, "in a batch, set options in the items")?;
    let form = BatchFormat::of(headers)?;
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
    items: Vec<Result<Submission, Problem>>,
) -> Result<Response, Problem> {
    let mut submissions = Vec::with_capacity(items.len());
    // The problem of each invalid item; `None` for the items on which the bucket decides.
    let invalid: Vec<Option<Problem>> = items
        .into_iter()
        .map(|item| item.and_then(|submission| check_and_cap(caller, bucket, submission)))
        .map(|item| item.map(|submission| submissions.push(submission)).err())
        .collect();
    let waiter = LimitedCaller::new(caller.id(), origin.address);
    // Reserved before the jobs are admitted, so that there is always memory for the response.
    let reserved = response_memory::reserve_bytes(intake, waiter.clone(), expected_bytes(&invalid));
    let reserved = count_problem(intake, bucket.name(), reserved)?;
    let begun = Instant::now();
    let bytes = submissions.iter().map(|submission| submission.body.len()).sum();
    let span = SubmissionSpan::begin(intake, bucket, &mut submissions);
    let turn = intake.submissions().take_for_jobs(waiter, submissions.len(), bytes).await;
    let judging = {
        let (intake, bucket) = (intake.clone(), bucket.clone());
        async move { judge_many_in_current(&intake, &bucket, submissions, origin).await }
    };
    let admissions = turn.run(judging).await?;
    intake.metrics().admitted_in(bucket.name(), begun.elapsed(), span.trace());
    span.end_of_many(bucket.name(), &admissions);

    let last = admissions.iter().rev().find_map(|judged| judged.as_ref().ok());
    let limits = last.map(|judged| all_fields(judged, intake.settings())).unwrap_or_default();
    let (mut admissions, mut accepted) = (admissions.into_iter(), 0);
    let results = invalid.into_iter().map(|invalid| match invalid {
        Some(problem) => count_problem(intake, bucket.name(), Err(problem)),
        None => admissions.next().map_or_else(
            || Err(Problem::internal()),
            |judged| {
                count_refused_caller(intake, bucket.name(), caller.id(), &judged);
                into_item_result(intake, bucket.name(), judged)
            },
        ),
    });
    let count = |result: &Result<Admitted, Problem>| {
        accepted += u64::from(result.as_ref().is_ok_and(|admitted| !admitted.repeated));
    };
    let result = BatchResult::of(results.inspect(count).map(BatchItemResult::from).collect());
    intake.metrics().accepted(bucket.name(), accepted);
    let mut response = (result.status(), Json(&result)).into_response();
    response.headers_mut().extend(result.retry_after());
    response.headers_mut().extend(limits);
    response_memory::hold(response, reserved).await
}

/// Submits jobs to the current incarnation of a bucket, as `PendingSubmission::judge_in_current` does one.
async fn judge_many_in_current(
    intake: &Intake,
    bucket: &Bucket,
    submissions: Vec<Submission>,
    origin: Origin,
) -> Vec<Result<AdmissionDecision, BucketError>> {
    let (count, origin) = (submissions.len(), Arc::new(origin));
    let retry = bucket.incarnation().map(|_| (submissions.clone(), Arc::clone(&origin)));
    let judged = bucket.admit_many_from(submissions, origin).await;
    let Some((submissions, origin)) = retry else { return judged };
    let all_gone = !judged.is_empty() && judged.iter().all(|judged| matches!(judged, Err(BucketError::Gone)));
    let judged = if all_gone { Err(BucketError::Gone) } else { Ok(judged) };
    let retry = |bucket: Bucket| async move { Ok(bucket.admit_many_from(submissions, origin).await) };
    let (_, judged) = intake.or_current(bucket, judged, retry).await;
    judged.unwrap_or_else(|error| vec![Err(error); count])
}
