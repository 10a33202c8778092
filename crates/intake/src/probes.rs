//! `GET /livez`, `/readyz` and `/metrics`, for intakes and processors.

use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use dripfeed_auth::{LimitedCaller, Read};
use dripfeed_http::Health;
use http::HeaderMap;

use crate::intake::Intake;
use crate::metrics::MetricsExporter;
use crate::openapi::responses;
use crate::problem::{Code, Problem};
use crate::request::access::Allowed;
use crate::request::client_ip::ClientIp;
use crate::request::response_memory;

/// Returns the three routes without authentication, for a separate port.
pub fn router(exporter: MetricsExporter) -> Router {
    let metrics =
        get(async |State(exporter): State<MetricsExporter>, headers: HeaderMap| export(&exporter, &headers).await);
    let health = health(exporter.health().clone());
    Router::new().route("/metrics", metrics).with_state(exporter).merge(health)
}

/// `/livez` and `/readyz`, which need no key.
pub(crate) fn health(health: Health) -> Router {
    Router::new().route("/livez", get(livez)).route("/readyz", get(readyz)).with_state(health)
}

/// Liveness: the process answers.
#[utoipa::path(get, path = "/livez", tag = "health", security(()), responses(
    (status = 200, description = "The process answers", content_type = "text/plain", body = String)
))]
pub(crate) async fn livez() -> &'static str {
    "alive\n"
}

/// Readiness: Redis takes writes (of a Redis Cluster, at least one master), and the process isn't shutting down.
#[utoipa::path(get, path = "/readyz", tag = "health", security(()), responses(
    (status = 200, description = "Ready for work", content_type = "text/plain", body = String),
    (status = 503, description = "`draining`, or `store_unavailable`: Redis doesn't answer, or denies access or writes",
        content_type = "application/problem+json", body = crate::problem::ProblemDocument)
))]
pub(crate) async fn readyz(State(health): State<Health>) -> Result<&'static str, Problem> {
    health.ready().await?;
    Ok("ready\n")
}

/// Returns the metrics of this process as Prometheus text, or as OpenMetrics if `Accept` asks for it. With keys
/// configured, this needs a key with the scope `read` for all buckets.
#[utoipa::path(get, path = "/metrics", tag = "health", responses(
    (status = 200, description = "The metrics", content(
        (String = "text/plain"), (String = "application/openmetrics-text"),
    )),
    responses::OfMetrics,
))]
pub(crate) async fn metrics(
    State(intake): State<Intake>,
    Allowed { caller, .. }: Allowed<Read>,
    ClientIp(address): ClientIp,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    // Labels show the names of all buckets.
    if !caller.may_use_all_buckets() {
        return Err(Problem::new(Code::Forbidden, "metrics cover all buckets, and this key is restricted to some"));
    }
    let metrics = export(intake.exporter(), &headers).await?;
    response_memory::reserve(&intake, LimitedCaller::new(caller.id(), address), metrics).await
}

async fn export(exporter: &MetricsExporter, headers: &HeaderMap) -> Result<Response, Problem> {
    exporter.export(headers).await.map_err(|_| Problem::internal())
}
