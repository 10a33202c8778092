//! `POST …/jobs`: hands in one job.

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use dripfeed_bucket::Origin;
use dripfeed_job::Submission;
use http::{HeaderMap, HeaderName, header};

use crate::address::Address;
use crate::admit::{admit, counted};
use crate::caller::{At, Caller, Submit};
use crate::intake::Intake;
use crate::options::{self, Taken};
use crate::prefer::Wait;
use crate::problem::{BadOption, Problem};
use crate::receipt::Receipt;
use crate::{body, parameters, refusals};

/// Hands in one job: the body, of any type, is what the upstream will get.
#[utoipa::path(
    post, path = "/v1/buckets/{bucket}/jobs", tag = "jobs",
    params(parameters::Bucket, parameters::Options, parameters::MethodAndPath),
    request_body(content = body::Any, content_type = "*/*", description = "The payload, sent on as it is"),
    responses(
        (status = 202, description = "Admitted, and kept as `durability` says", body = Receipt, headers(
            ("Location" = String, description = "The job"),
            ("Idempotent-Replayed" = String, description = "`true`: the key was known, nothing was added"),
            ("Preference-Applied" = String, description = "`wait=…`: the outcome was waited for in vain"),
        )),
        (status = 200, description = "The upstream's answer, which came within `Prefer: wait=…`",
            content_type = "*/*", body = body::Any),
        refusals::OfSubmission,
    )
)]
pub(crate) async fn submit(
    State(intake): State<Intake>,
    At { caller, bucket, .. }: At<Submit>,
    Address(address): Address,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    let submission = counted(&intake, bucket.name(), read(&intake, &caller, &headers, body).await)?;
    let wait = Wait::of(&headers);
    admit(&intake, &bucket, submission, Origin { headers, address }, wait).await
}

async fn read(intake: &Intake, caller: &Caller, headers: &HeaderMap, body: Body) -> Result<Submission, Problem> {
    let mut submission = Submission { caller: caller.id().map(str::to_owned), ..Submission::default() };
    options::read(headers, Taken::None, &mut submission)?;
    submission.content_type = text(headers, &header::CONTENT_TYPE)?;
    // An encoded body means nothing without its encoding.
    if let Some(encoding) = text(headers, &header::CONTENT_ENCODING)? {
        let pushed = submission.headers.push(header::CONTENT_ENCODING.as_str(), &encoding);
        pushed.map_err(|error| bad_header(&header::CONTENT_ENCODING, &error))?;
    }
    submission.body = body::read(body, intake).await?;
    Ok(submission)
}

/// A header that travels with the body.
pub(crate) fn text(headers: &HeaderMap, name: &HeaderName) -> Result<Option<String>, Problem> {
    let text = |value: &http::HeaderValue| value.to_str().map(str::to_owned);
    headers.get(name).map(text).transpose().map_err(|_| bad_header(name, &"use visible ASCII characters"))
}

fn bad_header(name: &HeaderName, reason: &dyn ToString) -> Problem {
    Problem::bad_options(vec![BadOption { name: name.to_string(), reason: reason.to_string() }])
}
