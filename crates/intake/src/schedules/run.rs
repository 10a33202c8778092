//! `POST …/schedules/{id}/run`: submits the job of a schedule now.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use dripfeed_auth::Operate;

use super::owned;
use crate::buckets::audit::unconfirmed::record_result;
use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::{Code, Problem};
use crate::request::access::{BucketAccess, ScheduleInPath};
use crate::request::body::NoBody;
use crate::request::pagination::{NoParams, Params};
use crate::submit::admit::admit;
use crate::submit::priority::cap;
use crate::submit::receipt::Receipt;

/// Submits the job of a schedule now, in addition to its ticks, also while it is paused.
#[utoipa::path(
    post, path = "/v1/buckets/{bucket}/schedules/{id}/run", tag = "schedules",
    params(parameters::Bucket, parameters::Schedule),
    responses(
        (status = 202, description = "Accepted", body = Receipt,
            headers(("Location" = String, description = "The job"))),
        responses::OfScheduleRun,
    )
)]
pub(crate) async fn run_schedule(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    _: Params<NoParams>,
    ScheduleInPath(id): ScheduleInPath,
    _: NoBody,
) -> Result<Response, Problem> {
    owned::check_may_submit(&caller)?;
    let (now_ms, _, definition) = owned::find(&bucket, &id).await?;
    let Some(highest) = owned::highest_priority(&intake, &bucket, &definition) else {
        let detail = "the key that created the schedule may no longer submit to the bucket; PUT the schedule again";
        return Err(Problem::new(Code::Forbidden, detail));
    };
    let job = cap(highest, &bucket, definition.job_for(now_ms));
    let job_caller = job.caller.clone();
    let response = admit(&intake, &bucket, job_caller.as_deref(), Box::new(job), Arc::default(), None).await;
    record_result(&bucket, &caller, "schedule", &format!("{id} run"), response).await
}
