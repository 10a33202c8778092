//! `POST …/jobs/cancel`: cancels all waiting and parked jobs that match.

use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::State;
use dripfeed_auth::Operate;
use dripfeed_bucket::{BucketError, JobFilter, TimeWindow};
use dripfeed_job::{JobState, duration};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::buckets::audit;
use crate::intake::Intake;
use crate::openapi::{formats, parameters, responses};
use crate::problem::{Code, Problem};
use crate::request::access::BucketAccess;
use crate::request::body::{self, Sender};
use crate::request::client_ip::ClientIp;
use crate::request::json;
use crate::request::pagination::{NoParams, Params};
use crate::request::time;

/// Cancels all waiting and parked jobs that match all given members; at least one is required. Jobs in flight are not
/// affected.
#[utoipa::path(
    post, path = "/v1/buckets/{bucket}/jobs/cancel", tag = "jobs", params(parameters::Bucket),
    operation_id = "cancel_jobs",
    request_body = CancelRequest,
    responses((status = 200, description = "Done", body = CancelSummary), responses::OfChange)
)]
pub(crate) async fn cancel_many(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Operate>,
    _: Params<NoParams>,
    ClientIp(address): ClientIp,
    body: Body,
) -> Result<Json<CancelSummary>, Problem> {
    let body = body::read(Sender { caller: &caller, address }, body, &intake).await?;
    let filter = body::parse(body, |body| json::read::<CancelRequest>(body)?.filter()).await?;
    let cancelled = bucket.cancel_many(&filter).await;
    let which = described(&filter);
    audit::record_parts(&bucket, &caller, "cancel", &cancelled, |cancelled| *cancelled, "job", Some(&which)).await;
    intake.metrics().cancelled(bucket.name(), cancelled.as_ref().map_or_else(BucketError::done, |all| *all));
    let cancelled = cancelled?;
    Ok(Json(CancelSummary { cancelled }))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = CancelFilter)]
pub(crate) struct CancelRequest {
    /// Only jobs in this state.
    state: Option<CancellableState>,
    /// Only jobs of this caller.
    #[schema(min_length = 1)]
    caller: Option<String>,
    /// Only jobs that were accepted at least this long ago, such as `10m`.
    #[serde(default, deserialize_with = "age")]
    #[schema(value_type = Option<formats::Duration>, inline)]
    older_than: Option<Duration>,
    /// Only jobs that were accepted at or after this time (RFC 3339).
    #[serde(default, deserialize_with = "time::deserialize")]
    #[schema(value_type = Option<String>, format = DateTime)]
    since: Option<u64>,
    /// Only jobs that were accepted at or before this time (RFC 3339).
    #[serde(default, deserialize_with = "time::deserialize")]
    #[schema(value_type = Option<String>, format = DateTime)]
    until: Option<u64>,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum CancellableState {
    Waiting,
    Parked,
}

fn age<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| duration::parse(&text).map_err(D::Error::custom)).transpose()
}

impl CancelRequest {
    /// Refuses an empty filter: a misspelt or forgotten filter must not cancel everything.
    fn filter(self) -> Result<JobFilter, Problem> {
        if self.caller.as_deref() == Some("") {
            return Err(Problem::bad_member("caller", "is empty; give a caller, or omit it"));
        }
        let state = self.state.map(|state| match state {
            CancellableState::Waiting => JobState::Waiting,
            CancellableState::Parked => JobState::Parked,
        });
        let accepted = TimeWindow { since_ms: self.since, until_ms: self.until };
        let filter = JobFilter { state, caller: self.caller, older_than: self.older_than, accepted };
        if filter == JobFilter::default() {
            let detail = "give at least one of state, caller, older_than, since and until; …/purge cancels all jobs";
            return Err(Problem::new(Code::BadMember, detail));
        }
        Ok(filter)
    }
}

/// Describes the filter for the audit log, such as `waiting, of shop, older than 10m`.
fn described(filter: &JobFilter) -> String {
    let state = filter.state.map(|state| state.to_string());
    let caller = filter.caller.as_ref().map(|caller| format!("of {caller}"));
    let age = filter.older_than.map(|age| format!("older than {}", duration::show(age)));
    let since = filter.accepted.since_ms.map(|ms| format!("since {}", time::show(ms)));
    let until = filter.accepted.until_ms.map(|ms| format!("until {}", time::show(ms)));
    [state, caller, age, since, until].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[derive(Serialize, ToSchema)]
#[schema(as = Cancelled)]
pub(crate) struct CancelSummary {
    /// The number of cancelled jobs.
    cancelled: u64,
}
