//! `GET …/jobs`: lists what is in the bucket, or how jobs ended, by state.

use axum::extract::OriginalUri;
use axum::response::Response;
use dripfeed_job::State as JobState;
use serde::Deserialize;

use crate::caller::{At, Read};
use crate::job::Job;
use crate::listing::{self, List, Params};
use crate::problem::Problem;
use crate::{parameters, refusals};

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// `waiting`, `in_flight`, `parked`; or ended: `delivered`, `dead`, `expired`, `cancelled`. All in the bucket when
    /// left out.
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
    params(parameters::Bucket, Filter, parameters::Paging),
    responses(
        (status = 200, description = "A page of jobs", body = List<Job>,
            headers(("Link" = String, description = "`rel=\"next\"`: the next page"))),
        refusals::OfList,
    )
)]
pub(crate) async fn jobs(
    At { bucket, .. }: At<Read>,
    Params(filter): Params<Filter>,
    OriginalUri(uri): OriginalUri,
) -> Result<Response, Problem> {
    let state = listing::parsed::<JobState>("state", filter.state.as_deref())?;
    let limit = listing::limit(filter.limit.as_deref())?;
    let after = listing::cursor(filter.cursor.as_deref())?;
    let page = bucket.jobs(state, after.as_ref(), limit).await?;
    Ok(listing::answer(&uri, page, |view| Job::of(bucket.name(), view)))
}
