//! `PATCH …`: changes settings at run time, at once for all replicas and for jobs already queued.

use axum::body::Body;
use axum::extract::State;
use dripfeed_auth::Operate;
use dripfeed_bucket::{Bucket, BucketLimits, BucketSettings, Changes, Leak};

use crate::buckets::patch::Patch;
use crate::buckets::state::BucketState;
use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::BucketAccess;
use crate::request::{body, json};

/// Changes settings at run time. `null` restores the configured value.
#[utoipa::path(
    patch, path = "/v1/buckets/{bucket}", tag = "buckets", params(parameters::Bucket), request_body = Patch,
    responses((status = 200, description = "The changed bucket", body = BucketState), responses::OfChange)
)]
pub(crate) async fn change(
    State(intake): State<Intake>,
    BucketAccess { bucket, .. }: BucketAccess<Operate>,
    body: Body,
) -> Result<axum::Json<BucketState>, Problem> {
    let body = body::read(body, &intake).await?;
    let changes = body::parse(body, |body| json::read::<Patch>(body)?.changes()).await?;
    if changes.has("leak.rate") || changes.has("leak.burst") {
        check_burst_fits(&bucket, &changes).await?;
    }
    bucket.change(&changes).await?;
    BucketState::of(&bucket).await.map(axum::Json)
}

/// Rate and burst must fit, whichever of them is changed.
async fn check_burst_fits(bucket: &Bucket, changes: &Changes) -> Result<(), Problem> {
    let changes = bucket.census().await?.changes.and(changes.clone());
    let (BucketSettings { leak, .. }, _) = changes.over(&bucket.settings(), &BucketLimits::default());
    Leak::fault(leak.rate, leak.burst).map_or(Ok(()), |fault| Err(Problem::bad_member("leak.burst", &fault)))
}
