//! The 202 response for an accepted job.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use dripfeed_bucket::{Admitted, Bucket};
use dripfeed_job::BucketName;
use dripfeed_job::duration::ms_up;
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;

use crate::settings::IntakeSettings;
use crate::submit::ratelimit_fields::FreeCapacity;

/// Enough for most receipts as JSON without reallocation.
const USUAL_BYTES: usize = 256;
/// Enough for the headers of the response, including those of every response.
const USUAL_HEADERS: usize = 8;

const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

#[derive(Serialize, ToSchema)]
pub(crate) struct Receipt<'r> {
    /// The job's id. It never changes.
    #[schema(example = "1700000000000-0")]
    id: &'r str,
    bucket: &'r str,
    /// Jobs in the bucket, including this one.
    level: u64,
    /// The maximum level.
    capacity: u64,
    /// The durability class: `process`, `everysec`, `fsync` or `replicated`.
    durability: &'static str,
    /// Estimated time until delivery, at the measured rate.
    eta_ms: u64,
}

pub(crate) fn response(settings: &IntakeSettings, bucket: &Bucket, admitted: &Admitted) -> Response {
    let id = admitted.id.to_string();
    let receipt = Receipt {
        id: &id,
        bucket: bucket.name().as_str(),
        level: admitted.level,
        capacity: admitted.capacity,
        durability: bucket.durability().as_str(),
        eta_ms: ms_up(admitted.eta),
    };
    let mut text = Vec::with_capacity(USUAL_BYTES);
    if serde_json::to_writer(&mut text, &receipt).is_err() {
        // Strings and numbers always serialize.
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    }
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = StatusCode::ACCEPTED;
    let headers = response.headers_mut();
    headers.reserve(USUAL_HEADERS);
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    // `insert` costs less than `extend`.
    let ratelimit = FreeCapacity::from(admitted).fields(settings);
    let location = location(bucket.name(), &id);
    for (name, value) in location.into_iter().chain(ratelimit).chain(replayed(admitted)) {
        headers.insert(name, value);
    }
    response
}

/// The header of a response for an existing job with the same idempotency key.
pub(crate) fn replayed(admitted: &Admitted) -> Option<(HeaderName, HeaderValue)> {
    admitted.repeated.then_some((REPLAYED, HeaderValue::from_static("true")))
}

pub(crate) fn location(bucket: &BucketName, id: &str) -> Option<(HeaderName, HeaderValue)> {
    let job = HeaderValue::try_from(["/v1/buckets/", bucket.as_str(), "/jobs/", id].concat());
    job.ok().map(|job| (header::LOCATION, job))
}
