//! `GET …/outcomes`: lists the outcomes of jobs.

use axum::extract::{OriginalUri, State};
use axum::response::Response;
use dripfeed_auth::{LimitedCaller, Read};
use dripfeed_bucket::JobView;
use dripfeed_job::Ending;
use serde::Deserialize;

use crate::intake::Intake;
use crate::jobs::job::Job;
use crate::openapi::{parameters, responses};
use crate::problem::Problem;
use crate::request::access::BucketAccess;
use crate::request::client_ip::ClientIp;
use crate::request::pagination::{self, List, Params};
use crate::request::visibility::Visibility;

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OutcomesQuery {
    /// Only jobs that ended at or after this time (RFC 3339).
    #[param(format = DateTime)]
    since: Option<String>,
    /// Only jobs that ended at or before this time (RFC 3339).
    #[param(format = DateTime)]
    until: Option<String>,
    /// Only `delivered`, `dead`, `expired` or `cancelled`.
    #[param(pattern = "^(delivered|dead|expired|cancelled)$")]
    outcome: Option<String>,
    #[param(ignore)]
    redacted: Option<String>,
    #[param(ignore)]
    limit: Option<String>,
    #[param(ignore)]
    cursor: Option<String>,
}

/// Lists ended jobs, oldest first.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}/outcomes", tag = "jobs",
    operation_id = "list_outcomes",
    params(parameters::Bucket, OutcomesQuery, parameters::Paging, parameters::Redacted),
    responses(
        (status = 200, description = "A page of ended jobs", body = List<Job>,
            headers(("Link" = String, description = "`rel=\"next\"`: the next page"))),
        responses::OfList,
    )
)]
pub(crate) async fn outcomes(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Read>,
    ClientIp(address): ClientIp,
    Params(query): Params<OutcomesQuery>,
    OriginalUri(uri): OriginalUri,
) -> Result<Response, Problem> {
    let ended = pagination::window(query.since.as_deref(), query.until.as_deref())?;
    let ending = pagination::parsed::<Ending>("outcome", query.outcome.as_deref())?;
    let limit = pagination::limit(query.limit.as_deref())?;
    let mask = pagination::mask(&intake, query.redacted.as_deref())?;
    let after = pagination::cursor(query.cursor.as_deref())?;
    let waiter = LimitedCaller::new(caller.id(), address);
    let page = intake
        .in_turn(waiter, &bucket, |bucket| async move { bucket.outcomes(ended, ending, after.as_ref(), limit).await })
        .await?;
    let visibility = Visibility::of(&caller);
    Ok(pagination::masked_answer(&uri, page, mask, |ended| Job::of(bucket.name(), JobView::from(ended), visibility)))
}
