//! `GET …/jobs`: lists jobs by state, or finds one by its idempotency key.

use axum::extract::{OriginalUri, State};
use axum::response::Response;
use dripfeed_auth::{Caller, Read, Scope, Waiter};
use dripfeed_bucket::{Bucket, Page};
use dripfeed_job::JobState;
use dripfeed_job::idempotency::IdempotencyKey;
use serde::Deserialize;

use crate::intake::Intake;
use crate::jobs::job::Job;
use crate::openapi::{formats, parameters, responses};
use crate::problem::{Code, Problem};
use crate::request::access::BucketAccess;
use crate::request::client_ip::ClientIp;
use crate::request::pagination::{self, List, Params};
use crate::request::sight::Sight;

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
    /// The caller of the idempotency key, by default the caller of this request. Another one needs the scope `operate`.
    caller: Option<String>,
    #[param(ignore)]
    redacted: Option<String>,
    #[param(ignore)]
    limit: Option<String>,
    #[param(ignore)]
    cursor: Option<String>,
}

/// Lists jobs.
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
    let state = pagination::parsed::<JobState>("state", query.state.as_deref())?;
    let limit = pagination::limit(query.limit.as_deref())?;
    let mask = pagination::mask(&intake, query.redacted.as_deref())?;
    let after = pagination::cursor(query.cursor.as_deref())?;
    let key = pagination::param("idempotency_key", query.idempotency_key.as_deref(), |text| {
        IdempotencyKey::parse(text).map_err(|error| error.to_string())
    })?;
    let reader = Waiter::new(caller.id(), address);
    let page = match key {
        Some(key) if state.is_none() && after.is_none() => {
            let owner = owner_of_key(&caller, query.caller)?;
            let find = |bucket: Bucket| async move { bucket.find_by_key(owner.as_deref(), &key).await };
            let found = intake.in_turn(reader, &bucket, find).await?;
            Page { items: found.into_iter().collect(), next: None }
        }
        Some(_) => return Err(pagination::bad("idempotency_key", "matches one job; omit state and cursor")),
        None if query.caller.is_some() => {
            return Err(pagination::bad("caller", "give the idempotency key, too"));
        }
        None => {
            let list = |bucket: Bucket| async move { bucket.jobs(state, after.as_ref(), limit).await };
            intake.in_turn(reader, &bucket, list).await?
        }
    };
    Ok(pagination::masked_answer(&uri, page, mask, |view| Job::of(bucket.name(), view, Sight::of(&caller))))
}

/// The caller whose idempotency key it is: the one named, or this one.
fn owner_of_key(caller: &Caller, named: Option<String>) -> Result<Option<String>, Problem> {
    let owner = named.or_else(|| caller.id().map(str::to_owned));
    if owner.as_deref() != caller.id() && !caller.may(Scope::Operate) {
        return Err(Problem::new(Code::Forbidden, "the idempotency keys of other callers need the scope `operate`"));
    }
    Ok(owner)
}
