//! `DELETE /v1/buckets/{b}`: deletes a bucket that was defined at run time.

use axum::extract::State;
use dripfeed_auth::Define;
use dripfeed_bucket::{Bucket, Closed, Opened};
use http::{HeaderMap, StatusCode};
use serde::Deserialize;

use super::version;
use crate::buckets::audit::record;
use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::{Code, Problem};
use crate::request::access::NewBucketAccess;
use crate::request::body::Unused;
use crate::request::if_match::IfMatch;
use crate::request::pagination::Params;

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Deletion {
    /// Cancel all waiting and parked jobs first.
    #[serde(default)]
    purge: bool,
}

/// Deletes a bucket that was defined at run time, with its outcomes, dead letters and schedules. One with jobs stays;
/// with `purge` only one with jobs in flight does.
#[utoipa::path(
    delete, path = "/v1/buckets/{bucket}", tag = "buckets",
    params(parameters::Bucket, parameters::IfMatch, Deletion),
    responses((status = 204, description = "Deleted"), responses::OfBucketDeletion)
)]
pub(crate) async fn delete_bucket(
    State(intake): State<Intake>,
    NewBucketAccess { caller, name, definitions, .. }: NewBucketAccess<Define>,
    Params(Deletion { purge }): Params<Deletion>,
    headers: HeaderMap,
    _: Unused,
) -> Result<StatusCode, Problem> {
    let if_match = IfMatch::of(&headers)?;
    definitions.follow().await?;
    let definition = definitions.get(name.as_str()).ok_or_else(Problem::unknown_bucket)?;
    version::check(&if_match, Some(&definition))?;
    let bucket = intake.buckets().get(name.as_str()).ok_or_else(Problem::unknown_bucket)?;
    if purge {
        purge_open(&bucket).await?;
    }
    match bucket.close().await? {
        Closed::Done => {}
        Closed::Jobs(jobs) => return Err(not_empty(jobs, purge)),
        Closed::Gone => return Err(Problem::unknown_bucket()),
    }
    record(&bucket, &caller, "define", "deleted").await;
    definition.delete(intake.redis().store()).await?;
    definitions.follow().await?;
    Ok(StatusCode::NO_CONTENT)
}

/// One that is closed already has no jobs.
async fn purge_open(bucket: &Bucket) -> Result<(), Problem> {
    if bucket.open().await? == Opened::Open {
        bucket.purge().await?;
    }
    Ok(())
}

fn not_empty(jobs: u64, was_purged: bool) -> Problem {
    let what_to_do = if was_purged { "they are in flight: retry later" } else { "drain it, or add ?purge=true" };
    Problem::new(Code::BucketNotEmpty, format!("the bucket has {jobs} jobs: {what_to_do}"))
}
