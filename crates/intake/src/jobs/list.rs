//! `GET …/jobs`: lists jobs by state.

use axum::extract::OriginalUri;
use axum::response::Response;
use dripfeed_auth::Read;
use dripfeed_job::JobState;
use serde::Deserialize;

use crate::jobs::job::Job;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::BucketAccess;
use crate::request::pagination::{self, List, Params};
use crate::request::sight::Sight;

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct JobsQuery {
    /// `waiting`, `in_flight`, `parked`; or ended: `delivered`, `dead`, `expired`, `cancelled`. By default all in the
    /// bucket.
    #[param(pattern = "^(waiting|in_flight|parked|delivered|dead|expired|cancelled)$")]
    state: Option<String>,
    #[param(ignore)]
    limit: Option<String>,
    #[param(ignore)]
    cursor: Option<String>,
}

/// Lists jobs.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}/jobs", tag = "jobs",
    params(parameters::Bucket, JobsQuery, parameters::Paging),
    responses(
        (status = 200, description = "A page of jobs", body = List<Job>,
            headers(("Link" = String, description = "`rel=\"next\"`: the next page"))),
        responses::OfList,
    )
)]
pub(crate) async fn jobs(
    BucketAccess { bucket, caller, .. }: BucketAccess<Read>,
    Params(query): Params<JobsQuery>,
    OriginalUri(uri): OriginalUri,
) -> Result<Response, Problem> {
    let state = pagination::parsed::<JobState>("state", query.state.as_deref())?;
    let limit = pagination::limit(query.limit.as_deref())?;
    let after = pagination::cursor(query.cursor.as_deref())?;
    let page = bucket.jobs(state, after.as_ref(), limit).await?;
    Ok(pagination::answer(&uri, page, |view| Job::of(bucket.name(), view, Sight::of(&caller))))
}
