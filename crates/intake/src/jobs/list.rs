//! `GET …/jobs`: lists jobs by state, caller and age, or finds one by its idempotency key.

use axum::extract::{OriginalUri, State};
use axum::response::Response;
use dripfeed_auth::{Caller, LimitedCaller, Read, Scope};
use dripfeed_bucket::{Bucket, JobFilter, Page};
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_job::{JobState, duration};
use serde::Deserialize;

use crate::intake::Intake;
use crate::jobs::job::Job;
use crate::openapi::{formats, parameters, responses};
use crate::problem::{Code, Problem};
use crate::request::access::BucketAccess;
use crate::request::client_ip::ClientIp;
use crate::request::pagination::{self, List, Params};
use crate::request::visibility::Visibility;

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct JobsQuery {
    /// `waiting`, `in_flight` or `parked`; or ended: `delivered`, `dead`, `expired` or `cancelled`. By default all jobs
    /// in the bucket.
    #[param(pattern = "^(waiting|in_flight|parked|delivered|dead|expired|cancelled)$")]
    state: Option<String>,
    /// Only the job with this idempotency key, in any state.
    #[param(value_type = formats::IdempotencyKey, inline, required = false)]
    idempotency_key: Option<String>,
    /// Only jobs of this caller. With an idempotency key: the caller whose key it is, by default the caller of this
    /// request; another one needs the scope `operate`.
    #[param(min_length = 1)]
    caller: Option<String>,
    /// Only jobs that were accepted at least this long ago, such as `10m`.
    #[param(value_type = formats::Duration, inline, required = false)]
    older_than: Option<String>,
    /// Only jobs that were accepted at or after this time (RFC 3339).
    #[param(format = DateTime)]
    since: Option<String>,
    /// Only jobs that were accepted at or before this time (RFC 3339).
    #[param(format = DateTime)]
    until: Option<String>,
    #[param(ignore)]
    redacted: Option<String>,
    #[param(ignore)]
    limit: Option<String>,
    #[param(ignore)]
    cursor: Option<String>,
}

/// Lists jobs that match all given parameters.
///
/// A page may have fewer jobs than `limit`, or none, and yet a `next`: it ends when enough jobs were read for it.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}/jobs", tag = "jobs",
    operation_id = "list_jobs",
    params(parameters::Bucket, JobsQuery, parameters::Paging, parameters::Redacted),
    responses(
        (status = 200, description = "A page of jobs", body = List<Job>,
            headers(("Link" = String, description = "`rel=\"next\"`: the next page"))),
        responses::OfList,
    )
)]
pub(crate) async fn jobs(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Read>,
    ClientIp(address): ClientIp,
    Params(query): Params<JobsQuery>,
    OriginalUri(uri): OriginalUri,
) -> Result<Response, Problem> {
    let filter = query.filter()?;
    let limit = pagination::limit(query.limit.as_deref())?;
    let mask = pagination::mask(&intake, query.redacted.as_deref())?;
    let after = pagination::cursor(query.cursor.as_deref())?;
    let key = pagination::param("idempotency_key", query.idempotency_key.as_deref(), |text| {
        IdempotencyKey::parse(text).map_err(|error| error.to_string())
    })?;
    let reader = LimitedCaller::new(caller.id(), address);
    let page = match key {
        Some(key) if filter.is_of_callers_alone() && after.is_none() => {
            let owner = owner_of_key(&caller, filter.caller)?;
            let find = |bucket: Bucket| async move { bucket.find_by_key(owner.as_deref(), &key).await };
            let found = intake.in_turn(reader, &bucket, find).await?;
            Page { items: found.into_iter().collect(), next: None }
        }
        Some(_) => {
            return Err(pagination::bad("idempotency_key", "matches one job; omit all other filters but caller"));
        }
        None => {
            let list = |bucket: Bucket| async move { bucket.jobs(&filter, after.as_ref(), limit).await };
            intake.in_turn(reader, &bucket, list).await?
        }
    };
    Ok(pagination::masked_answer(&uri, page, mask, |view| Job::of(bucket.name(), view, Visibility::of(&caller))))
}

impl JobsQuery {
    fn filter(&self) -> Result<JobFilter, Problem> {
        if self.caller.as_deref() == Some("") {
            return Err(pagination::bad("caller", "is empty; give a caller, or omit it"));
        }
        let age = |text: &str| duration::parse(text).map_err(|error| error.to_string());
        Ok(JobFilter {
            state: pagination::parsed::<JobState>("state", self.state.as_deref())?,
            caller: self.caller.clone(),
            older_than: pagination::param("older_than", self.older_than.as_deref(), age)?,
            accepted: pagination::window(self.since.as_deref(), self.until.as_deref())?,
        })
    }
}

/// The caller whose idempotency key it is: the one named, or this one.
fn owner_of_key(caller: &Caller, named: Option<String>) -> Result<Option<String>, Problem> {
    let owner = named.or_else(|| caller.id().map(str::to_owned));
    if owner.as_deref() != caller.id() && !caller.may(Scope::Operate) {
        return Err(Problem::new(Code::Forbidden, "the idempotency keys of other callers need the scope `operate`"));
    }
    Ok(owner)
}
