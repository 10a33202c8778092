//! `POST …/pause`, `…/resume`, `…/purge`.

use axum::Json;
use serde::Serialize;
use utoipa::ToSchema;

use crate::body::Unused;
use crate::buckets::BucketState;
use crate::caller::{At, Operate};
use crate::problem::Problem;
use crate::{parameters, refusals};

/// Lets no more jobs out; the bucket admits until it is full.
#[utoipa::path(
    post, path = "/v1/buckets/{bucket}/pause", tag = "buckets", params(parameters::Bucket),
    responses((status = 200, description = "The bucket, paused", body = BucketState), refusals::OfOperation)
)]
pub(crate) async fn pause(At { bucket, .. }: At<Operate>, _: Unused) -> Result<Json<BucketState>, Problem> {
    bucket.pause().await?;
    BucketState::of(&bucket).await.map(Json)
}

/// Lets jobs out again.
#[utoipa::path(
    post, path = "/v1/buckets/{bucket}/resume", tag = "buckets", params(parameters::Bucket),
    responses((status = 200, description = "The bucket, not paused", body = BucketState), refusals::OfOperation)
)]
pub(crate) async fn resume(At { bucket, .. }: At<Operate>, _: Unused) -> Result<Json<BucketState>, Problem> {
    bucket.resume().await?;
    BucketState::of(&bucket).await.map(Json)
}

#[derive(Serialize, ToSchema)]
pub(crate) struct Purged {
    /// How many jobs were cancelled.
    purged: u64,
}

/// Cancels all that waits or is parked. What is in flight ends by itself.
#[utoipa::path(
    post, path = "/v1/buckets/{bucket}/purge", tag = "buckets", params(parameters::Bucket),
    responses((status = 200, description = "Done", body = Purged), refusals::OfOperation)
)]
pub(crate) async fn purge(At { bucket, .. }: At<Operate>, _: Unused) -> Result<Json<Purged>, Problem> {
    Ok(Json(Purged { purged: bucket.purge().await? }))
}
