//! `GET …/outcomes`, `GET …/report`: how jobs ended, one by one and in sum.

use std::time::Duration;

use axum::Json;
use axum::extract::OriginalUri;
use axum::response::Response;
use dripfeed_bucket::{JobView, Report};
use dripfeed_job::duration::{self, ms_up};
use dripfeed_job::{BucketName, Ending};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::caller::{At, Read};
use crate::job::Job;
use crate::listing::{self, List, Params};
use crate::problem::Problem;
use crate::{parameters, refusals, time};

const WINDOW: Duration = Duration::from_hours(1);
const SHORTEST_WINDOW: Duration = Duration::from_secs(1);
const LONGEST_WINDOW: Duration = Duration::from_hours(366 * 24);

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Filter {
    /// Only settled at this time, RFC 3339, or later.
    #[param(format = DateTime)]
    since: Option<String>,
    /// Only `delivered`, `dead`, `expired` or `cancelled`.
    #[param(pattern = "^(delivered|dead|expired|cancelled)$")]
    outcome: Option<String>,
    #[param(ignore)]
    limit: Option<String>,
    #[param(ignore)]
    cursor: Option<String>,
}

/// Lists ended jobs, in the order of their ends.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}/outcomes", tag = "jobs",
    params(parameters::Bucket, Filter, parameters::Paging),
    responses(
        (status = 200, description = "A page of ended jobs", body = List<Job>,
            headers(("Link" = String, description = "`rel=\"next\"`: the next page"))),
        refusals::OfList,
    )
)]
pub(crate) async fn outcomes(
    At { bucket, .. }: At<Read>,
    Params(filter): Params<Filter>,
    OriginalUri(uri): OriginalUri,
) -> Result<Response, Problem> {
    let since_ms = listing::time_ms("since", filter.since.as_deref())?;
    let ending = listing::parsed::<Ending>("outcome", filter.outcome.as_deref())?;
    let limit = listing::limit(filter.limit.as_deref())?;
    let after = listing::cursor(filter.cursor.as_deref())?;
    let page = bucket.outcomes(since_ms, ending, after.as_ref(), limit).await?;
    Ok(listing::answer(&uri, page, |ended| Job::of(bucket.name(), JobView::from(ended))))
}

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Window {
    /// How far to look back: `1h` when left out, at least `1s`, at most `366d`.
    #[param(example = "1h", pattern = "^([1-9][0-9]{0,5}s|[1-9][0-9]{0,3}m|[1-9][0-9]{0,2}h|[1-9][0-9]?d)$")]
    window: Option<String>,
}

/// Counts the jobs that ended within a window, and tells how long they took.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}/report", tag = "buckets", params(parameters::Bucket, Window),
    responses((status = 200, description = "The report", body = Summary), refusals::OfList)
)]
pub(crate) async fn report(
    At { bucket, .. }: At<Read>,
    Params(Window { window }): Params<Window>,
) -> Result<Json<Summary>, Problem> {
    let window = listing::param("window", window.as_deref(), window_of)?.unwrap_or(WINDOW);
    let report = bucket.report(window).await?;
    Ok(Json(Summary::of(bucket.name(), window, &report)))
}

fn window_of(text: &str) -> Result<Duration, String> {
    let window = duration::parse(text).map_err(|error| error.to_string())?;
    let in_range = (SHORTEST_WINDOW..=LONGEST_WINDOW).contains(&window);
    let range = || format!("use {} to {}", duration::show(SHORTEST_WINDOW), duration::show(LONGEST_WINDOW));
    in_range.then_some(window).ok_or_else(range)
}

#[derive(Serialize, ToSchema)]
#[schema(as = Report)]
pub(crate) struct Summary {
    #[schema(value_type = String)]
    bucket: BucketName,
    from: String,
    to: String,
    window_ms: u64,
    /// Jobs by outcome.
    #[schema(value_type = std::collections::BTreeMap<String, u64>)]
    counts: Map<String, Value>,
    /// Attempts that they took, in all.
    attempts: u64,
    /// From admission to delivery; null when nothing was delivered.
    #[schema(required)]
    latency_ms: Option<Percentiles>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Latency)]
struct Percentiles {
    p50: u64,
    p95: u64,
    p99: u64,
    max: u64,
}

impl Summary {
    fn of(bucket: &BucketName, window: Duration, report: &Report) -> Self {
        let count = |ending: Ending| report.ended.iter().find(|(of, _)| *of == ending).map_or(0, |(_, count)| *count);
        Self {
            bucket: bucket.clone(),
            from: time::show(report.from_ms),
            to: time::show(report.to_ms),
            window_ms: ms_up(window),
            counts: Ending::ALL.iter().map(|ending| (ending.to_string(), count(*ending).into())).collect(),
            attempts: report.attempts,
            latency_ms: report.latency.map(|of| Percentiles { p50: of.p50, p95: of.p95, p99: of.p99, max: of.max }),
        }
    }
}
