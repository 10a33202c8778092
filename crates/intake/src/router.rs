//! The routes of the API, and the middleware around them.

mod calls;
pub(crate) mod entry_point;
mod explorer;
mod index;

use std::io;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use dripfeed_auth::{Caller, LimitedCaller};
use dripfeed_http::{ConnectionLimits, Health, HttpService, Listener, limits};
use http::{Extensions, HeaderMap, HeaderValue, Request, header};
use tokio_util::sync::CancellationToken;
use tower_http::catch_panic::CatchPanicLayer;
use utoipa::openapi::OpenApi;

use crate::intake::Intake;
use crate::openapi::{document, published};
use crate::probes;
use crate::problem::{Code, Problem};
use crate::request::body;
use crate::request::client_ip::ClientIp;
use crate::request::response_memory;
use crate::submit::proxy;

/// Responses may contain text of upstreams and callers, so no browser may run, load or frame anything in them.
const ALLOW_NOTHING: &str = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox";
/// The media types of our own responses.
const JSON: [&str; 2] = ["application/json", "application/problem+json"];
/// Swagger UI needs its own scripts and styles.
const OWN_SCRIPTS: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; \
     img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

impl Intake {
    /// Returns all routes.
    pub fn router(&self) -> Router {
        self.api_with(Router::new())
    }

    /// Returns all routes and `more`, with the same checks.
    pub fn api_with(&self, more: Router) -> Router {
        self.complete(self.api(more))
    }

    /// Returns all routes and `more`, for calls within this process. Without the checks around them, as the original
    /// request has passed these.
    pub fn api_within(&self, more: Router) -> Router {
        with_fallbacks(self.api(more))
    }

    fn api(&self, more: Router) -> Router {
        self.routes().route("/", get(index::index)).merge(more)
    }

    /// Returns all routes, and the dashboard, whose routes include `/`.
    pub fn router_with(&self, page: Router) -> Router {
        self.complete(self.routes().merge(self.with_bodies(page)))
    }

    /// Returns the dashboard without the API, for a separate address, with the same checks.
    pub fn page_alone(&self, page: Router) -> Router {
        self.complete(self.with_bodies(page))
    }

    /// Reads the bodies of requests to the dashboard, within the limits of time and memory of the API.
    fn with_bodies(&self, page: Router) -> Router {
        page.layer(from_fn_with_state(self.clone(), read_body))
    }

    /// Only the routes that monitors request periodically, so that they don't need the router of the whole API.
    pub(crate) fn monitoring(&self) -> Router {
        self.complete(self.metrics_route())
    }

    fn metrics_route(&self) -> Router {
        Router::new().route("/metrics", get(probes::metrics).with_state(self.clone()))
    }

    fn routes(&self) -> Router {
        let proxied = Router::new()
            .route("/v1/buckets/{bucket}/proxy", any(proxy::proxy))
            .route("/v1/buckets/{bucket}/proxy/", any(proxy::proxy))
            .route("/v1/buckets/{bucket}/proxy/{*path}", any(proxy::proxy))
            .route_layer(from_fn_with_state(self.health().clone(), refuse_while_draining));
        let calls = calls::routes()
            .route_layer(from_fn_with_state(self.clone(), answer_call))
            .merge(proxied)
            .with_state(self.clone());
        let intake = self.clone();
        let describe = get(move || published::serve(intake.clone(), openapi));
        let docs = explorer::routes().route("/openapi.json", describe);
        Router::new()
            .merge(calls)
            .merge(self.metrics_route())
            .merge(docs.layer(from_fn(allow_own_scripts)))
            .route("/problems/{code}", get(index::about_problem))
    }

    /// Adds the checks of each request, and the health routes.
    fn complete(&self, routes: Router) -> Router {
        let checked = routes.layer(from_fn_with_state(self.clone(), refuse_unknown_host));
        with_fallbacks(checked.merge(probes::health(self.health().clone())))
            .layer(CatchPanicLayer::custom(answer_panic))
            .layer(from_fn_with_state(self.health().clone(), check_and_complete))
    }

    /// Serves until `stop`, and for `drain_delay` after it while reporting not ready. Then closes the listener and
    /// waits for running requests, at most `drain`.
    ///
    /// # Errors
    /// When the listener fails.
    pub async fn serve(&self, listener: impl Into<Listener>, stop: CancellationToken) -> io::Result<()> {
        self.serve_with(listener, self.entry_point(), stop).await
    }

    /// Like [`Intake::serve`], with another service.
    ///
    /// # Errors
    /// When the listener fails.
    pub async fn serve_with(
        &self,
        listener: impl Into<Listener>,
        answers: impl HttpService,
        stop: CancellationToken,
    ) -> io::Result<()> {
        let settings = self.settings();
        let limits = ConnectionLimits {
            most: settings.max_connections,
            most_per_address: settings.max_connections_per_address,
            head_timeout: settings.head_timeout,
            idle_timeout: settings.idle_timeout,
            stall_timeout: settings.body_timeout,
            drain: settings.drain,
        };
        let serving = dripfeed_http::serve(listener, answers, limits, self.health().draining().clone());
        tokio::pin!(serving);
        tokio::select! {
            result = &mut serving => return result,
            () = self.drain_delayed(&stop) => self.health().drain(),
        }
        serving.await
    }
}

impl Intake {
    /// Waits for the stop, then reports not ready for `drain_delay`.
    async fn drain_delayed(&self, stop: &CancellationToken) {
        stop.cancelled().await;
        self.health().mark_not_ready();
        tokio::time::sleep(self.settings().drain_delay).await;
    }
}

/// Returns the API's description.
#[must_use]
pub fn openapi() -> OpenApi {
    document::complete(calls::description())
}

/// Adds problems for unknown routes and methods.
fn with_fallbacks(routes: Router) -> Router {
    routes.fallback(index::not_found).method_not_allowed_fallback(index::method_not_allowed)
}

async fn refuse_unknown_host(
    State(intake): State<Intake>,
    request: Request<Body>,
    next: Next,
) -> Result<Response, Problem> {
    check_host(&intake, &request)?;
    Ok(next.run(request).await)
}

/// Refuses a request that names this intake by a host name that another site may own.
pub(crate) fn check_host<B>(intake: &Intake, request: &Request<B>) -> Result<(), Problem> {
    if intake.settings().hosts.allow(intake.keys(), request.uri(), request.headers()) {
        return Ok(());
    }
    let detail = "without keys, address this intake by an IP address, localhost or a name in intake.hosts; \
                  or configure [[keys]]";
    Err(Problem::new(Code::UnknownHost, detail))
}

async fn read_body(State(intake): State<Intake>, request: Request<Body>, next: Next) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    let ClientIp(address) = ClientIp::of(&parts, &intake);
    let body = body::read_form(address, body, &intake).await?;
    Ok(next.run(Request::from_parts(parts, body.into())).await)
}

async fn refuse_while_draining(State(health): State<Health>, request: Request<Body>, next: Next) -> Response {
    if health.is_draining() { Problem::draining().into_response() } else { next.run(request).await }
}

/// Like [`refuse_while_draining`], for the API without `/proxy`: safe methods read. An operation is completed even if
/// the client disconnects, so that the audit log has it. A submission isn't, because it may wait for the end of its
/// job, for its caller alone.
async fn answer_call(State(intake): State<Intake>, request: Request<Body>, next: Next) -> Response {
    let (is_read, path) = (request.method().is_safe(), request.uri().path());
    let is_operation = !is_read && entry_point::bucket_of(path).is_none();
    let reader = is_read.then(|| reader_of(&intake, request.headers(), request.extensions()));
    let response = refuse_while_draining(State(intake.health().clone()), request, next);
    if is_operation {
        return tokio::spawn(response).await.unwrap_or_else(|_| Problem::internal().into_response());
    }
    let response = response.await;
    let Some(reader) = reader else { return response };
    // Only responses to reads are refused if there is no memory for them.
    response_memory::reserve(&intake, reader, Problem::response_to_read(response)).await.into_response()
}

/// The caller that gets the response to a request.
fn reader_of(intake: &Intake, headers: &HeaderMap, extensions: &Extensions) -> LimitedCaller {
    let ClientIp(address) = ClientIp::from_head(headers, extensions, intake);
    LimitedCaller::new(intake.keys().caller(headers).as_ref().and_then(Caller::id), address)
}

/// Checks every request and completes every response, in one layer, because each layer costs an allocation and a copy
/// of the request.
async fn check_and_complete(State(health): State<Health>, request: Request<Body>, next: Next) -> Response {
    let mut response = match check_head(&request) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    complete(&health, &mut response);
    response
}

pub(crate) fn check_head<B>(request: &Request<B>) -> Result<(), Problem> {
    limits::check_head(request).map_err(|error| Problem::new(Code::HeadersTooLarge, error.to_string()))
}

/// Adds the headers of every response.
pub(crate) fn complete(health: &Health, response: &mut Response) {
    set_security_headers(response.headers_mut());
    // Requests that were running at the stop close their connections.
    if health.is_draining() {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
}

async fn allow_own_scripts(request: Request<Body>, next: Next) -> Response {
    let mut response = next.run(request).await;
    response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(OWN_SCRIPTS));
    response
}

/// Adds security headers. JSON with `nosniff` isn't rendered by browsers, so it needs no content security policy.
fn set_security_headers(headers: &mut HeaderMap) {
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let is_json =
        headers.get(header::CONTENT_TYPE).is_some_and(|media_type| JSON.iter().any(|json| media_type == json));
    if !is_json {
        headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(ALLOW_NOTHING));
    }
}

/// The panic hook has logged the panic.
fn answer_panic(_: Box<dyn std::any::Any + Send>) -> Response {
    Problem::internal().into_response()
}
