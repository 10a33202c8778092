//! `GET …/audit`: the audit log of a bucket.

pub(crate) mod unconfirmed;

use std::error::Error;

use axum::Json;
use axum::extract::State;
use dripfeed_auth::{Caller, KeyAuditEntry, Read};
use dripfeed_bucket::{AuditEntry, Bucket, BucketError, audit_trail};
use dripfeed_job::{BucketName, audit_text, pluralize};
use serde::Serialize;
use utoipa::ToSchema;

use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::named_bucket::NamedBucketAccess;
use crate::request::pagination::{List, NoParams, Params};
use crate::request::time;

/// An entry of the audit log.
#[derive(Serialize, ToSchema)]
#[schema(as = AuditEntry)]
pub(crate) struct Audited {
    at: String,
    /// The id of the key. Null: no keys were configured, or it was `dripfeed doctor --repair`.
    #[schema(required)]
    key: Option<String>,
    /// `pause`, `resume`, `change`, `purge`, `cancel`, `replay`, `edit`, `delete`, `schedule` or `define`; by `dripfeed
    /// doctor --repair` `write_off`; of a key `create`, `change` or `delete`.
    action: String,
    /// Details, such as `leak.rate: 5/s → 10/s`; may be empty. They begin with `not confirmed by Redis` if its reply
    /// was lost, so that the operation may not have been done.
    detail: String,
}

/// Returns the audit log of a bucket: the latest hundred entries, newest first. That of a bucket deleted over the API
/// is kept for 24 hours.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}/audit", tag = "buckets", params(parameters::Bucket),
    operation_id = "list_audit",
    responses((status = 200, description = "The audit log", body = List<Audited>), responses::OfBucket)
)]
pub(crate) async fn audit(
    State(intake): State<Intake>,
    NamedBucketAccess { name, .. }: NamedBucketAccess<Read>,
    _: Params<NoParams>,
) -> Result<Json<List<Audited>>, Problem> {
    let name: BucketName = name.parse().map_err(|_| Problem::unknown_bucket())?;
    let trail = audit_trail(intake.redis().store(), &name).await?;
    if trail.is_empty() {
        intake.find_bucket(name.as_str()).await?;
    }
    Ok(Json(List { items: trail.into_iter().map(Audited::from).collect(), next: None }))
}

impl From<AuditEntry> for Audited {
    fn from(AuditEntry { at_ms, key, action, detail }: AuditEntry) -> Self {
        Self { at: time::show(at_ms), key, action, detail }
    }
}

impl From<KeyAuditEntry> for Audited {
    fn from(KeyAuditEntry { at_ms, by, action, id, detail }: KeyAuditEntry) -> Self {
        let detail = if detail.is_empty() { id } else { format!("{id}: {detail}") };
        Self { at: time::show(at_ms), key: Some(by), action, detail }
    }
}

/// Records an operation in the log and in Redis, after it was done: so an error of Redis is only logged.
pub(crate) async fn record(bucket: &Bucket, caller: &Caller, action: &str, detail: &str) {
    tracing::info!(bucket = %bucket.name(), key = caller.id(), action, detail, "audit");
    if let Err(error) = bucket.record(caller.id(), action, detail).await {
        let (bucket, error) = (bucket.name(), &error as &dyn Error);
        tracing::warn!(%bucket, error, action, "could not write the audit log to Redis");
    }
}

/// Like [`record`], for changed settings: in as many entries as are needed for all their values.
pub(crate) async fn record_changes(bucket: &Bucket, caller: &Caller, action: &str, changes: Vec<String>) {
    for detail in audit_text::joined(changes) {
        record(bucket, caller, action, &detail).await;
    }
}

/// Like [`record`], for an operation on all items that match a filter, also if it failed in the middle, because earlier
/// items stay changed. `one`: the name of an item.
pub(crate) async fn record_parts<T>(
    bucket: &Bucket,
    caller: &Caller,
    action: &str,
    done: &Result<T, BucketError>,
    count: impl FnOnce(&T) -> u64,
    one: &str,
    filter: Option<&str>,
) {
    let count = match done {
        Ok(done) => pluralize(count(done), one),
        Err(error) if error.may_be_done() => {
            format!("not confirmed by Redis: at least {}", pluralize(error.done(), one))
        }
        Err(error) => format!("{} before it failed; these stay so", pluralize(error.done(), one)),
    };
    let detail = filter.map_or_else(|| count.clone(), |filter| format!("{count}: {filter}"));
    record(bucket, caller, action, &detail).await;
}
