//! The whole surface: which call is where, and what lies around all of them.

use std::io;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use http::{HeaderValue, header};
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::OpenApi as _;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;
use utoipa_swagger_ui::SwaggerUi;

use crate::accept::{self, ConnectionLimits, Listener};
use crate::health::Health;
use crate::intake::Intake;
use crate::problem::Problem;
use crate::{
    batch, buckets, cancel, change, check, dead, describe, head, health, job, jobs, operate, outcomes, page, proxy,
    replay, rules, submit,
};

/// Nothing that is answered may run, load or frame anything, whatever an upstream or a caller put into it.
const NOTHING: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";
/// The API's browser runs its own scripts, and styles its own elements.
const OWN_SCRIPTS: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

impl Intake {
    /// Every call there is.
    pub fn router(&self) -> Router {
        let (calls, api) = calls().split_for_parts();
        let calls = calls
            .route("/v1/buckets/{bucket}/proxy", any(proxy::proxy))
            .route("/v1/buckets/{bucket}/proxy/", any(proxy::proxy))
            .route("/v1/buckets/{bucket}/proxy/{*path}", any(proxy::proxy))
            .route_layer(from_fn_with_state(self.health().clone(), refuse_while_draining))
            .with_state(self.clone());
        let docs = Router::from(SwaggerUi::new("/docs").url("/openapi.json", describe::complete(api)));
        Router::new()
            .merge(calls)
            .merge(health::router(self.health().clone()))
            .merge(docs.layer(from_fn(allow_own_scripts)))
            .route("/", get(page::index))
            .route("/problems/{code}", get(page::about_problem))
            .fallback(page::not_found)
            .method_not_allowed_fallback(page::method_not_allowed)
            .layer(from_fn(head::limit))
            .layer(from_fn_with_state(self.health().clone(), close_while_draining))
            .layer(CatchPanicLayer::custom(answer_panic))
            .layer(from_fn(defend))
    }

    /// Serves until `stop`; then accepts nothing more, and returns when the running requests have ended, or their time
    /// has.
    ///
    /// # Errors
    /// When the listener breaks.
    pub async fn serve(&self, listener: impl Into<Listener>, stop: CancellationToken) -> io::Result<()> {
        let settings = self.settings();
        let limits = ConnectionLimits {
            most: settings.max_connections,
            head_timeout: settings.head_timeout,
            stall_timeout: settings.body_timeout,
            drain: settings.drain,
        };
        let serving = accept::serve(listener, self.router(), limits, self.health().draining().clone());
        tokio::pin!(serving);
        tokio::select! {
            ended = &mut serving => return ended,
            () = stop.cancelled() => self.health().drain(),
        }
        serving.await
    }
}

/// The API's description.
#[must_use]
pub fn openapi() -> OpenApi {
    describe::complete(calls().into_openapi())
}

#[derive(utoipa::OpenApi)]
#[openapi(paths(proxy::proxy, health::livez, health::readyz, health::metrics))]
struct Described;

/// The calls under `/v1`, described; and the description of those that are routed otherwise.
fn calls() -> OpenApiRouter<Intake> {
    OpenApiRouter::with_openapi(Described::openapi())
        .routes(routes!(submit::submit, jobs::jobs))
        .routes(routes!(batch::batch))
        .routes(routes!(job::job, cancel::cancel))
        .routes(routes!(buckets::buckets))
        .routes(routes!(buckets::bucket, change::change))
        .routes(routes!(operate::pause))
        .routes(routes!(operate::resume))
        .routes(routes!(operate::purge))
        .routes(routes!(dead::dead_letters))
        .routes(routes!(dead::dead_letter, dead::delete))
        .routes(routes!(replay::replay))
        .routes(routes!(replay::replay_many))
        .routes(routes!(outcomes::outcomes))
        .routes(routes!(outcomes::report))
        .routes(routes!(rules::put, rules::get, rules::delete))
        .routes(routes!(check::check))
}

async fn refuse_while_draining(State(health): State<Health>, request: Request, next: Next) -> Response {
    if health.is_draining() { Problem::draining().into_response() } else { next.run(request).await }
}

/// Requests that were running when the stop came end their connections.
async fn close_while_draining(State(health): State<Health>, request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    if health.is_draining() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

async fn allow_own_scripts(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(OWN_SCRIPTS));
    response
}

async fn defend(request: Request, next: Next) -> Response {
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(NOTHING));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

/// The panic itself was told by the panic hook.
fn answer_panic(_: Box<dyn std::any::Any + Send>) -> Response {
    Problem::internal().into_response()
}
