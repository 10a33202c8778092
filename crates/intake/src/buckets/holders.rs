//! `GET …/holders`: the callers with the most jobs or bytes, and refusals by limit.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use axum::Json;
use axum::extract::State;
use dripfeed_auth::{LimitedCaller, Read};
use dripfeed_bucket::{Holder, Refusals};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::intake::Intake;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::BucketAccess;
use crate::request::client_ip::ClientIp;
use crate::request::pagination::{self, Params};

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct HoldersQuery {
    /// The order: most `jobs` first (the default), or most `bytes`.
    #[param(pattern = "^(jobs|bytes)$")]
    by: Option<String>,
    /// The maximum number of callers.
    #[param(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    limit: Option<String>,
}

/// Returns the callers with the most jobs or bytes in a bucket, and the number of refused submissions by limit.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}/holders", tag = "buckets", params(parameters::Bucket, HoldersQuery),
    operation_id = "get_holders",
    responses((status = 200, description = "The callers", body = HolderSummary), responses::OfList)
)]
pub(crate) async fn holders(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Read>,
    Params(query): Params<HoldersQuery>,
    ClientIp(address): ClientIp,
) -> Result<Json<HolderSummary>, Problem> {
    let by_bytes = pagination::param("by", query.by.as_deref(), |by| match by {
        "jobs" => Ok(false),
        "bytes" => Ok(true),
        _ => Err("use jobs or bytes".to_owned()),
    })?;
    let limit = pagination::limit(query.limit.as_deref())?;
    let waiter = LimitedCaller::new(caller.id(), address);
    let mut holders = intake.in_turn(waiter, &bucket, |bucket| async move { bucket.holders().await }).await?;
    let callers = holders.len() as u64;
    holders.sort_unstable_by_key(|holder| {
        let (jobs, bytes) = (Reverse(holder.jobs), Reverse(holder.bytes));
        if by_bytes == Some(true) { (bytes, jobs, holder.caller.clone()) } else { (jobs, bytes, holder.caller.clone()) }
    });
    holders.truncate(limit);
    let mut limits = BTreeMap::<String, LimitCounts>::new();
    for (limit, verdict, count) in intake.metrics().limit_verdicts(bucket.name()) {
        limits.entry(limit).or_default().set(verdict, count);
    }
    let refused = intake.metrics().share_refusals(&bucket).await?.into_iter().map(RefusedCaller::from).collect();
    Ok(Json(HolderSummary { items: holders.into_iter().map(HeldRoom::from).collect(), callers, limits, refused }))
}

#[derive(Serialize, ToSchema)]
#[schema(as = Holders)]
pub(crate) struct HolderSummary {
    items: Vec<HeldRoom>,
    /// The number of callers with jobs in the bucket.
    callers: u64,
    /// Decisions of this intake since it started, by limit, including `max_share`.
    limits: BTreeMap<String, LimitCounts>,
    /// The callers that all intakes have refused most often, by limit, since the beginning of the last hour by the
    /// clock: at most 64 pairs. With more than 32 in an hour, a count may be too high. Other intakes add theirs every
    /// second.
    refused: Vec<RefusedCaller>,
}

/// Refused submissions of a caller.
#[derive(Serialize, ToSchema)]
struct RefusedCaller {
    caller: String,
    /// The id of the limit, `max_share`, or the code of the problem if no limit of the caller refused, such as
    /// `bucket_full`.
    limit: String,
    refused: u64,
}

impl From<Refusals> for RefusedCaller {
    fn from(Refusals { caller, limit, refused }: Refusals) -> Self {
        Self { caller, limit, refused }
    }
}

/// The jobs of a caller in the bucket, including those in flight.
#[derive(Serialize, ToSchema)]
#[schema(as = Holder)]
struct HeldRoom {
    caller: String,
    jobs: u64,
    bytes: u64,
}

impl From<Holder> for HeldRoom {
    fn from(Holder { caller, jobs, bytes }: Holder) -> Self {
        Self { caller, jobs, bytes }
    }
}

#[derive(Default, Serialize, ToSchema)]
struct LimitCounts {
    allowed: u64,
    refused: u64,
    /// Requests that a policy with `mode = "shadow"` would have refused.
    shadow_refused: u64,
}

impl LimitCounts {
    fn set(&mut self, verdict: &str, count: u64) {
        match verdict {
            "allowed" => self.allowed = count,
            "refused" => self.refused = count,
            _ => self.shadow_refused = count,
        }
    }
}
