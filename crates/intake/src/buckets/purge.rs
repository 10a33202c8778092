//! `POST …/purge`: cancels all jobs that aren't in flight.

use axum::Json;
use axum::extract::State;
use dripfeed_auth::Operate;
use dripfeed_bucket::BucketError;
use serde::Serialize;
use utoipa::ToSchema;

use crate::buckets::audit;
use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::BucketAccess;
use crate::request::body::NoBody;
use crate::request::pagination::{NoParams, Params};

#[derive(Serialize, ToSchema)]
pub(crate) struct Purged {
    /// The number of cancelled jobs.
    purged: u64,
}

/// Cancels all waiting and parked jobs. Jobs in flight are not affected.
#[utoipa::path(
    post, path = "/v1/buckets/{bucket}/purge", tag = "buckets", params(parameters::Bucket),
    operation_id = "purge_bucket",
    responses((status = 200, description = "Done", body = Purged), responses::OfOperation)
)]
pub(crate) async fn purge(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    _: Params<NoParams>,
    _: NoBody,
) -> Result<Json<Purged>, Problem> {
    let purged = bucket.purge().await;
    audit::record_parts(&bucket, &caller, "purge", &purged, |purged| *purged, "job", None).await;
    intake.metrics().cancelled(bucket.name(), purged.as_ref().map_or_else(BucketError::done, |all| *all));
    let purged = purged?;
    Ok(Json(Purged { purged }))
}
