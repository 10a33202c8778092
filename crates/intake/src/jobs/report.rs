//! `GET …/report`: counts and latencies of the jobs that ended within a window.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use dripfeed_auth::{LimitedCaller, Read};
use dripfeed_bucket::Report;
use dripfeed_job::duration::{self, ms_up};
use dripfeed_job::{BucketName, Ending};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::intake::Intake;
use crate::openapi::{formats, parameters, responses};
use crate::problem::Problem;
use crate::request::access::BucketAccess;
use crate::request::client_ip::ClientIp;
use crate::request::pagination::{self, Params};
use crate::request::time;

const WINDOW: Duration = Duration::from_hours(1);
const SHORTEST_WINDOW: Duration = Duration::from_secs(1);
const LONGEST_WINDOW: Duration = Duration::from_hours(366 * 24);

#[derive(Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ReportQuery {
    /// The length of the window until now: `1h` by default, at least `1s`, at most `366d`.
    #[param(value_type = formats::Duration, inline, required = false)]
    window: Option<String>,
}

/// Returns the number of jobs that ended within a window, by outcome, and their latencies.
///
/// Only of outcomes that are kept (`keep.outcomes`, `keep.most_outcomes`, `keep.outcomes_bytes`). The history counts
/// all.
#[utoipa::path(
    get, path = "/v1/buckets/{bucket}/report", tag = "buckets", params(parameters::Bucket, ReportQuery),
    operation_id = "get_report",
    responses((status = 200, description = "The report", body = ReportSummary), responses::OfList)
)]
pub(crate) async fn report(
    State(intake): State<Intake>,
    BucketAccess { bucket, caller, .. }: BucketAccess<Read>,
    ClientIp(address): ClientIp,
    Params(ReportQuery { window }): Params<ReportQuery>,
) -> Result<Json<ReportSummary>, Problem> {
    let window = pagination::param("window", window.as_deref(), window_of)?.unwrap_or(WINDOW);
    let waiter = LimitedCaller::new(caller.id(), address);
    let report = intake.in_turn(waiter, &bucket, |bucket| async move { bucket.report(window).await }).await?;
    Ok(Json(ReportSummary::of(bucket.name(), window, &report)))
}

fn window_of(text: &str) -> Result<Duration, String> {
    let window = duration::parse(text).map_err(|error| error.to_string())?;
    let in_range = (SHORTEST_WINDOW..=LONGEST_WINDOW).contains(&window);
    let range = || format!("use {} to {}", duration::show(SHORTEST_WINDOW), duration::show(LONGEST_WINDOW));
    in_range.then_some(window).ok_or_else(range)
}

#[derive(Serialize, ToSchema)]
#[schema(as = Report)]
pub(crate) struct ReportSummary {
    #[schema(value_type = String)]
    bucket: BucketName,
    from: String,
    to: String,
    window_ms: u64,
    /// Jobs by outcome.
    #[schema(value_type = std::collections::BTreeMap<String, u64>)]
    counts: Map<String, Value>,
    /// All attempts of these jobs.
    attempts: u64,
    /// From acceptance to delivery; null: no job was delivered.
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

impl ReportSummary {
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
