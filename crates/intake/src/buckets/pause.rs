//! `POST …/pause`, `…/resume`.

use axum::Json;
use axum::extract::State;
use dripfeed_auth::Operate;

use crate::buckets::audit::unconfirmed::record_result;
use crate::buckets::state::BucketState;
use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::BucketAccess;
use crate::request::body::NoBody;
use crate::request::pagination::{NoParams, Params};

/// Pauses a bucket: it makes no calls, and accepts jobs until it is full.
#[utoipa::path(
    post, path = "/v1/buckets/{bucket}/pause", tag = "buckets", params(parameters::Bucket),
    operation_id = "pause_bucket",
    responses((status = 200, description = "The paused bucket", body = BucketState), responses::OfOperation)
)]
pub(crate) async fn pause(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    _: Params<NoParams>,
    _: NoBody,
) -> Result<Json<BucketState>, Problem> {
    let (bucket, paused) = intake.in_current(bucket, async |bucket| bucket.pause().await).await;
    let paused = record_result(&bucket, &caller, "pause", "", paused).await?;
    Ok(Json(BucketState::after(&bucket, &paused).await?))
}

/// Resumes a paused bucket.
#[utoipa::path(
    post, path = "/v1/buckets/{bucket}/resume", tag = "buckets", params(parameters::Bucket),
    operation_id = "resume_bucket",
    responses((status = 200, description = "The resumed bucket", body = BucketState), responses::OfOperation)
)]
pub(crate) async fn resume(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    _: Params<NoParams>,
    _: NoBody,
) -> Result<Json<BucketState>, Problem> {
    let (bucket, resumed) = intake.in_current(bucket, async |bucket| bucket.resume().await).await;
    let resumed = record_result(&bucket, &caller, "resume", "", resumed).await?;
    Ok(Json(BucketState::after(&bucket, &resumed).await?))
}
