//! `POST …/schedules/{id}/pause`, `…/resume`.

use axum::extract::State;
use axum::response::Response;
use dripfeed_auth::{Caller, Operate};
use dripfeed_bucket::Bucket;
use dripfeed_job::schedule::ScheduleId;

use super::owned::{self, TRIES};
use super::state::Schedule;
use crate::buckets::audit;
use crate::buckets::audit::unconfirmed::record_unconfirmed;
use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::{BucketAccess, ScheduleInPath};
use crate::request::body::NoBody;
use crate::request::pagination::{NoParams, Params};

/// Pauses a schedule. Ticks during the pause are not submitted later.
#[utoipa::path(
    post, path = "/v1/buckets/{bucket}/schedules/{id}/pause", tag = "schedules",
    params(parameters::Bucket, parameters::Schedule),
    responses(
        (status = 200, description = "The paused schedule", body = Schedule,
            headers(("ETag" = String, description = "Its version, for `If-Match`"))),
        responses::OfScheduleChange
    )
)]
pub(crate) async fn pause_schedule(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    _: Params<NoParams>,
    ScheduleInPath(id): ScheduleInPath,
    _: NoBody,
) -> Result<Response, Problem> {
    switch(&intake, &bucket, &caller, &id, true).await
}

/// Resumes a schedule with its next tick.
#[utoipa::path(
    post, path = "/v1/buckets/{bucket}/schedules/{id}/resume", tag = "schedules",
    params(parameters::Bucket, parameters::Schedule),
    responses(
        (status = 200, description = "The resumed schedule", body = Schedule,
            headers(("ETag" = String, description = "Its version, for `If-Match`"))),
        responses::OfScheduleChange
    )
)]
pub(crate) async fn resume_schedule(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    _: Params<NoParams>,
    ScheduleInPath(id): ScheduleInPath,
    _: NoBody,
) -> Result<Response, Problem> {
    switch(&intake, &bucket, &caller, &id, false).await
}

async fn switch(
    intake: &Intake,
    bucket: &Bucket,
    caller: &Caller,
    id: &ScheduleId,
    paused: bool,
) -> Result<Response, Problem> {
    for _ in 0..TRIES {
        let (now_ms, known, definition) = owned::find(bucket, id).await?;
        let next = definition.timetable.next_after(now_ms).filter(|_| !paused);
        let switched = bucket.switch_schedule(&known, paused, next).await;
        let detail = format!("{id} {}", if paused { "paused" } else { "resumed" });
        if let Some(switched) = record_unconfirmed(bucket, caller, "schedule", &detail, switched).await? {
            audit::record(bucket, caller, "schedule", &detail).await;
            return Ok(owned::answer(intake, bucket, caller, switched, definition));
        }
    }
    Err(owned::contended())
}
