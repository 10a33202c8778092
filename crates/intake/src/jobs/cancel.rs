//! `DELETE …/jobs/{id}`: cancels a waiting or parked job.

use axum::extract::State;
use dripfeed_auth::{LimitedCaller, Operate};
use dripfeed_bucket::CancelResult;
use dripfeed_job::Ending;
use http::StatusCode;

use crate::buckets::audit;
use crate::buckets::audit::unconfirmed::record_unconfirmed;
use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::{Code, Problem};
use crate::request::access::{BucketAccess, JobInPath};
use crate::request::body::NoBody;
use crate::request::client_ip::ClientIp;
use crate::request::pagination::{NoParams, Params};

/// Cancels a waiting or parked job.
#[utoipa::path(
    delete, path = "/v1/buckets/{bucket}/jobs/{id}", tag = "jobs",
    operation_id = "cancel_job",
    params(parameters::Bucket, parameters::Job),
    responses((status = 204, description = "Cancelled, now or earlier"), responses::OfCancel)
)]
pub(crate) async fn cancel(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    _: Params<NoParams>,
    JobInPath(id): JobInPath,
    ClientIp(address): ClientIp,
    _: NoBody,
) -> Result<StatusCode, Problem> {
    let waiter = LimitedCaller::new(caller.id(), address);
    let detail = id.to_string();
    let cancelled = intake.in_turn(waiter, &bucket, |bucket| async move { bucket.cancel(id).await }).await;
    match record_unconfirmed(&bucket, &caller, "cancel", &detail, cancelled).await? {
        CancelResult::Cancelled => {
            intake.metrics().cancelled(bucket.name(), 1);
            audit::record(&bucket, &caller, "cancel", &detail).await;
            Ok(StatusCode::NO_CONTENT)
        }
        CancelResult::Ended(Ending::Cancelled) => Ok(StatusCode::NO_CONTENT),
        CancelResult::InFlight => {
            Err(Problem::new(Code::InFlight, "the job is being delivered and can't be cancelled"))
        }
        CancelResult::Ended(ending) => Err(Problem::new(Code::JobEnded, format!("the job is {ending}"))),
        CancelResult::Unknown => Err(Problem::unknown_job()),
    }
}
