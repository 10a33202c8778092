//! `DELETE /v1/buckets/{b}`: deletes a bucket created over the API.

use std::time::Instant;

use axum::extract::State;
use dripfeed_auth::Define;
use dripfeed_bucket::{BeginDeletionResult, DECIDED_WITHIN, SuspendResult};
use dripfeed_job::pluralize;
use http::{HeaderMap, StatusCode};
use serde::Deserialize;

use super::deletion;
use super::precondition::check;
use super::wanted::{TRIES, contended};
use crate::buckets::audit::record;
use crate::buckets::audit::unconfirmed::record_unconfirmed;
use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::named_bucket::NewBucketAccess;
use crate::request::body::NoBody;
use crate::request::pagination::Params;
use crate::request::preconditions::Preconditions;

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct DeletionParams {
    /// First cancel all waiting and parked jobs.
    #[serde(default)]
    purge: bool,
}

/// Deletes a bucket created over the API, with its outcomes, dead letters and schedules. It is refused while the bucket
/// has jobs; with `purge`, only while it has jobs in flight: others are cancelled also then.
#[utoipa::path(
    delete, path = "/v1/buckets/{bucket}", tag = "buckets",
    params(parameters::Bucket, parameters::IfMatch, DeletionParams),
    responses((status = 204, description = "Deleted"), responses::OfBucketDeletion)
)]
pub(crate) async fn delete_bucket(
    State(intake): State<Intake>,
    NewBucketAccess { caller, name, definitions, .. }: NewBucketAccess<Define>,
    Params(DeletionParams { purge }): Params<DeletionParams>,
    headers: HeaderMap,
    _: NoBody,
) -> Result<StatusCode, Problem> {
    let preconditions = Preconditions::of(&headers)?;
    let store = intake.redis().store();
    for _ in 0..TRIES {
        definitions.follow().await?;
        let definition = definitions.get(name.as_str()).ok_or_else(Problem::unknown_bucket)?;
        let bucket = intake.bucket_to_delete(&*definitions, &definition).ok_or_else(Problem::unknown_bucket)?;
        // Ends the suspension by an earlier deletion that was abandoned.
        bucket.open(definition.version).await?;
        check(&preconditions, Some((&definition, Some(&bucket)))).await?;
        let suspending = Instant::now();
        let last = match bucket.suspend(definition.version, purge).await? {
            SuspendResult::Done(last) => last,
            SuspendResult::Jobs(jobs, last) if purge => {
                if !definition.is_current(store).await? {
                    continue;
                }
                deletion::purge(&intake, &bucket, &caller, last).await?;
                return Err(deletion::not_empty(jobs, purge));
            }
            SuspendResult::Jobs(jobs, _) => return Err(deletion::not_empty(jobs, purge)),
            SuspendResult::Changed => continue,
            SuspendResult::Gone => return Err(Problem::unknown_bucket()),
        };
        // Schedules that are created meanwhile are deleted, too, but not counted.
        let schedules = bucket.number_of_schedules().await?;
        // After this time the bucket may be open again.
        if suspending.elapsed() >= DECIDED_WITHIN {
            continue;
        }
        let (begun, detail) = (definition.begin_deletion(store).await, deleted_with(schedules));
        match record_unconfirmed(&bucket, &caller, "define", &detail, begun).await? {
            BeginDeletionResult::Begun => {
                record(&bucket, &caller, "define", &detail).await;
                deletion::end(&intake, &bucket, &caller, &definition, last).await?;
                definitions.follow().await?;
                return Ok(StatusCode::NO_CONTENT);
            }
            BeginDeletionResult::Changed => {}
            BeginDeletionResult::Gone => return Err(Problem::unknown_bucket()),
        }
    }
    Err(contended())
}

/// Describes the deletion, which includes the schedules.
fn deleted_with(schedules: u64) -> String {
    match schedules {
        0 => "deleted".to_owned(),
        number => format!("deleted, with {}", pluralize(number, "schedule")),
    }
}
