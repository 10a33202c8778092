//! `POST …/jobs`: submits one job.

use std::net::IpAddr;
use std::sync::Arc;

use axum::body::Body;
use axum::extract::{OriginalUri, Query, State};
use axum::response::Response;
use dripfeed_auth::Submit;
use dripfeed_bucket::Origin;
use dripfeed_job::Submission;
use http::{HeaderMap, Uri, header};

use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::{Code, Problem};
use crate::request::access::BucketAccess;
use crate::request::body::{self, Sender};
use crate::request::client_ip::ClientIp;
use crate::request::pagination::{NoParams, what_is_wrong};
use crate::submit::admit::{admit, count_problem};
use crate::submit::options::{self, OptionSource};
use crate::submit::priority::check_and_cap;
use crate::submit::receipt::Receipt;
use crate::submit::sync_wait::SyncWait;

/// Submits one job. The body, of any media type, is forwarded to the upstream.
#[utoipa::path(
    post, path = "/v1/buckets/{bucket}/jobs", tag = "jobs",
    operation_id = "submit_job",
    params(parameters::Bucket, parameters::Options, parameters::MethodAndPath),
    request_body(
        content((body::Any = "application/json"), (body::Any = "*/*")),
        description = "The payload, of any media type, forwarded unchanged"
    ),
    responses(
        (status = 202, description = "Accepted, with the durability class in `durability`", body = Receipt, headers(
            ("Location" = String, description = "The job"),
            ("Idempotent-Replayed" = String, description = "`true`: a job with this idempotency key exists; no job was \
                added"),
            ("Preference-Applied" = String, description = "`wait=…`: the job didn't end in time"),
        )),
        (status = 200, description = "The upstream's response, received within `Prefer: wait=…`",
            content_type = "*/*", body = body::Any, headers(
            ("Location" = String, description = "The job"),
            ("Idempotent-Replayed" = String, description = "`true`: a job with this idempotency key exists; no job was \
                added"),
            ("Preference-Applied" = String, description = "`wait=…`"),
        )),
        responses::OfSubmission,
    )
)]
pub(crate) async fn submit(
    State(intake): State<Intake>,
    access: BucketAccess<Submit>,
    OriginalUri(uri): OriginalUri,
    ClientIp(address): ClientIp,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    put(&intake, access, &uri, address, headers, body).await
}

/// Submits one job for an authorized caller.
pub(crate) async fn put(
    intake: &Intake,
    BucketAccess { caller, bucket, .. }: BucketAccess<Submit>,
    uri: &Uri,
    address: Option<IpAddr>,
    headers: HeaderMap,
    body: Body,
) -> Result<Response, Problem> {
    refuse_parameters(uri)?;
    let read = read(intake, Sender { caller: &caller, address }, &headers, body).await;
    let submission = count_problem(intake, bucket.name(), read.and_then(|read| check_and_cap(&caller, &bucket, read)))?;
    let wait = SyncWait::of(&headers).map(|wait| (wait, &caller));
    admit(intake, &bucket, caller.id(), Box::new(submission), Arc::new(Origin { headers, address }), wait).await
}

/// Refuses query parameters, so that an option that is written as one isn't ignored.
fn refuse_parameters(uri: &Uri) -> Result<(), Problem> {
    if uri.query().is_none() {
        return Ok(());
    }
    let Err(rejection) = Query::<NoParams>::try_from_uri(uri) else { return Ok(()) };
    let detail = format!("{}: set options as headers, such as Dripfeed-Delay", what_is_wrong(&rejection));
    Err(Problem::new(Code::BadQuery, detail))
}

async fn read(intake: &Intake, sender: Sender<'_>, headers: &HeaderMap, body: Body) -> Result<Submission, Problem> {
    let mut submission = Submission { caller: sender.caller.id().map(str::to_owned), ..Submission::default() };
    options::read(headers, OptionSource::Headers, &mut submission)?;
    submission.content_type = options::payload_header(headers, &header::CONTENT_TYPE)?;
    // Forwarded, because the upstream needs it to decode the body.
    if let Some(encoding) = options::payload_header(headers, &header::CONTENT_ENCODING)? {
        if submission.headers.iter().any(|(name, _)| name == header::CONTENT_ENCODING) {
            return Err(options::bad_header(&header::CONTENT_ENCODING, &"also given as Dripfeed-Forward-…; omit one"));
        }
        let pushed = submission.headers.push(header::CONTENT_ENCODING.as_str(), &encoding);
        pushed.map_err(|error| options::bad_header(&header::CONTENT_ENCODING, &error))?;
    }
    submission.body = body::read(sender, body, intake).await?;
    Ok(submission)
}
