//! `DELETE …/schedules/{id}`: deletes a schedule.

use dripfeed_auth::Operate;
use http::StatusCode;

use crate::buckets::audit;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::{BucketAccess, ScheduleInPath};
use crate::request::body::Unused;
use crate::request::pagination::{NoParams, Params};

/// Deletes a schedule. Jobs that it has submitted stay.
#[utoipa::path(
    delete, path = "/v1/buckets/{bucket}/schedules/{id}", tag = "schedules",
    params(parameters::Bucket, parameters::Schedule),
    responses((status = 204, description = "Deleted"), responses::OfScheduleChange)
)]
pub(crate) async fn delete_schedule(
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    _: Params<NoParams>,
    ScheduleInPath(id): ScheduleInPath,
    _: Unused,
) -> Result<StatusCode, Problem> {
    if !bucket.end_schedule(&id).await? {
        return Err(Problem::unknown_schedule());
    }
    audit::record(&bucket, &caller, "schedule", &format!("{id} deleted")).await;
    Ok(StatusCode::NO_CONTENT)
}
