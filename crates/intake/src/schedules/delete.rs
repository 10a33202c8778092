//! `DELETE …/schedules/{id}`: deletes a schedule.

use dripfeed_auth::Operate;
use dripfeed_bucket::{Bucket, EndScheduleResult};
use dripfeed_job::schedule::ScheduleId;
use http::{HeaderMap, StatusCode};

use super::owned::{TRIES, contended};
use crate::buckets::audit;
use crate::buckets::audit::unconfirmed::record_unconfirmed;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::{BucketAccess, ScheduleInPath};
use crate::request::body::NoBody;
use crate::request::pagination::{NoParams, Params};
use crate::request::preconditions::Preconditions;

/// Deletes a schedule. Jobs that it has submitted stay.
#[utoipa::path(
    delete, path = "/v1/buckets/{bucket}/schedules/{id}", tag = "schedules",
    params(parameters::Bucket, parameters::Schedule, parameters::IfMatch),
    responses((status = 204, description = "Deleted"), responses::OfScheduleDeletion)
)]
pub(crate) async fn delete_schedule(
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    _: Params<NoParams>,
    ScheduleInPath(id): ScheduleInPath,
    headers: HeaderMap,
    _: NoBody,
) -> Result<StatusCode, Problem> {
    let preconditions = Preconditions::of(&headers)?;
    let (ended, detail) = (end(&bucket, &id, &preconditions).await, format!("{id} deleted"));
    match record_unconfirmed(&bucket, &caller, "schedule", &detail, ended).await? {
        EndScheduleResult::Done => {}
        EndScheduleResult::None => return Err(Problem::unknown_schedule()),
        EndScheduleResult::Changed => return Err(contended()),
    }
    audit::record(&bucket, &caller, "schedule", &detail).await;
    Ok(StatusCode::NO_CONTENT)
}

/// Tries again while others change the schedule.
async fn end(bucket: &Bucket, id: &ScheduleId, preconditions: &Preconditions) -> Result<EndScheduleResult, Problem> {
    if preconditions.is_empty() {
        return Ok(bucket.end_schedule(id, None).await?);
    }
    for _ in 0..TRIES {
        let (_, known) = bucket.schedule(id).await?;
        let Some(known) = known else { return Ok(EndScheduleResult::None) };
        preconditions.check("schedule", Some(&known.state.version))?;
        match bucket.end_schedule(id, Some(&known)).await? {
            EndScheduleResult::Changed => {}
            ended => return Ok(ended),
        }
    }
    Ok(EndScheduleResult::Changed)
}
