//! `DELETE …/jobs/{id}`: takes back what waits or is parked.

use dripfeed_bucket::Cancel;
use dripfeed_job::Ending;
use http::StatusCode;

use crate::body::Unused;
use crate::caller::{At, NamedJob, Operate};
use crate::problem::{Code, Problem};
use crate::{parameters, refusals};

/// Cancels a job that waits or is parked.
#[utoipa::path(
    delete, path = "/v1/buckets/{bucket}/jobs/{id}", tag = "jobs",
    params(parameters::Bucket, parameters::Job),
    responses((status = 204, description = "Cancelled, now or before"), refusals::OfCancel)
)]
pub(crate) async fn cancel(
    At { bucket, .. }: At<Operate>,
    NamedJob(id): NamedJob,
    _: Unused,
) -> Result<StatusCode, Problem> {
    match bucket.cancel(id).await? {
        Cancel::Cancelled | Cancel::Ended(Ending::Cancelled) => Ok(StatusCode::NO_CONTENT),
        Cancel::InFlight => {
            Err(Problem::new(Code::InFlight, "a replica calls the upstream for it now; it can't be taken back"))
        }
        Cancel::Ended(ending) => Err(Problem::new(Code::JobEnded, format!("the job is {ending}"))),
        Cancel::Unknown => Err(Problem::unknown_job()),
    }
}
