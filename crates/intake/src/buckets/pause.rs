//! `POST …/pause`, `…/resume`.

use axum::Json;
use dripfeed_auth::Operate;

use crate::buckets::audit;
use crate::buckets::state::BucketState;
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
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    _: Params<NoParams>,
    _: NoBody,
) -> Result<Json<BucketState>, Problem> {
    let paused = bucket.pause().await?;
    audit::record(&bucket, &caller, "pause", "").await;
    Ok(Json(BucketState::after(&bucket, &paused).await?))
}

/// Resumes a paused bucket.
#[utoipa::path(
    post, path = "/v1/buckets/{bucket}/resume", tag = "buckets", params(parameters::Bucket),
    operation_id = "resume_bucket",
    responses((status = 200, description = "The resumed bucket", body = BucketState), responses::OfOperation)
)]
pub(crate) async fn resume(
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    _: Params<NoParams>,
    _: NoBody,
) -> Result<Json<BucketState>, Problem> {
    let resumed = bucket.resume().await?;
    audit::record(&bucket, &caller, "resume", "").await;
    Ok(Json(BucketState::after(&bucket, &resumed).await?))
}
