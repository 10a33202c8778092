//! The 202 response for an admitted job.

use axum::Json;
use axum::response::{IntoResponse, Response};
use dripfeed_bucket::{Admitted, Bucket};
use dripfeed_job::duration::ms_up;
use dripfeed_job::{BucketName, JobId};
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde::Serialize;
use utoipa::ToSchema;

use crate::settings::IntakeSettings;
use crate::submit::ratelimit_fields::FreeCapacity;

const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

#[derive(Serialize, ToSchema)]
pub(crate) struct Receipt<'r> {
    /// The job's id. It never changes.
    #[schema(example = "1700000000000-0")]
    id: &'r str,
    bucket: &'r str,
    /// Jobs in the bucket, this one included.
    level: u64,
    /// The maximum level.
    capacity: u64,
    /// The durability class: `process`, `everysec`, `fsync` or `replicated`.
    durability: &'static str,
    /// The estimated time until the job is delivered, at the measured rate.
    eta_ms: u64,
}

pub(crate) fn answer(settings: &IntakeSettings, bucket: &Bucket, admitted: &Admitted) -> Response {
    let id = admitted.id.to_string();
    let receipt = Receipt {
        id: &id,
        bucket: bucket.name().as_str(),
        level: admitted.level,
        capacity: admitted.capacity,
        durability: bucket.durability().as_str(),
        eta_ms: ms_up(admitted.eta),
    };
    let mut response = Json(receipt).into_response();
    *response.status_mut() = StatusCode::ACCEPTED;
    let headers = response.headers_mut();
    headers.extend(location(bucket.name(), admitted.id));
    headers.extend(FreeCapacity::from(admitted).fields(settings));
    if admitted.repeated {
        headers.insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

pub(crate) fn location(bucket: &BucketName, id: JobId) -> Option<(HeaderName, HeaderValue)> {
    let job = HeaderValue::try_from(format!("/v1/buckets/{bucket}/jobs/{id}"));
    job.ok().map(|job| (header::LOCATION, job))
}
