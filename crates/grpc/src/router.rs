//! The gRPC services, and the middleware around them.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use dripfeed_auth::{ApiKeys, Hosts};
use dripfeed_bucket::Buckets;
use dripfeed_limit::Services;
use tokio_util::sync::CancellationToken;
use tonic::Status;
use tonic::service::Routes;
use tower_http::catch_panic::CatchPanicLayer;

use crate::access::{Access, panicked};
use crate::envoy::Envoy;
use crate::external_scaler::external_scaler_server::ExternalScalerServer;
use crate::messages::{self, Messages};
use crate::proto::rate_limiter_server::RateLimiterServer;
use crate::rate_limit_service::rate_limit_service_server::RateLimitServiceServer;
use crate::scaler::Scaler;
use crate::scaler::known_buckets::{KnownBuckets, NewBuckets};
use crate::service::RateLimiter;

/// Small, because messages are parsed on the threads that serve all calls.
const LARGEST_MESSAGE: usize = 64 * 1024;
/// For messages with the rules of a service, which have at most 64 KiB as JSON, and its name.
const LARGEST_RULES: usize = LARGEST_MESSAGE + 1024;

/// Settings of the gRPC API: plain data, parsed and validated by the executable.
#[derive(Clone, Debug)]
pub struct GrpcSettings {
    /// Timeout of a request, from its first byte to the response.
    pub timeout: Duration,
    /// Whether responses also have the older `x-ratelimit-*` fields.
    pub x_ratelimit_headers: bool,
    /// Accepted host names if no keys are configured.
    pub hosts: Hosts,
}

/// Returns the gRPC services, to be served over HTTP/2. `draining` ends all streams.
pub fn router(
    services: Services,
    buckets: Arc<Buckets>,
    new_buckets: Arc<dyn NewBuckets>,
    keys: Arc<ApiKeys>,
    settings: GrpcSettings,
    draining: CancellationToken,
) -> Router {
    let access = Access::new(Arc::clone(&keys));
    let envoy = Envoy::new(services.clone(), access.clone(), settings.x_ratelimit_headers);
    let envoy = RateLimitServiceServer::new(envoy).max_decoding_message_size(LARGEST_MESSAGE);
    let scaler = Scaler::new(KnownBuckets::new(buckets, new_buckets), access.clone(), draining);
    let messages = Arc::new(Messages::new(access.clone()));
    let scaler = ExternalScalerServer::new(scaler).max_decoding_message_size(LARGEST_MESSAGE);
    let ours = RateLimiterServer::new(RateLimiter::new(services, access)).max_decoding_message_size(LARGEST_RULES);
    Routes::new(ours)
        .add_service(envoy)
        .add_service(scaler)
        .into_axum_router()
        .layer(from_fn_with_state(messages, messages::limit))
        .layer(from_fn_with_state((settings.hosts, keys), refuse_unknown_host))
        .layer(from_fn_with_state(settings.timeout, time_out))
        .layer(CatchPanicLayer::custom(answer_panic))
}

/// Refuses requests for unknown hosts, as over HTTP.
async fn refuse_unknown_host(
    State((hosts, keys)): State<(Hosts, Arc<ApiKeys>)>,
    request: Request,
    next: Next,
) -> Response {
    if hosts.allow(&keys, request.uri(), request.headers()) {
        return next.run(request).await;
    }
    let detail = "without keys, :authority must be an IP address, localhost or a name in intake.hosts";
    Status::permission_denied(detail).into_http()
}

/// Limits the time of a call, so that a slow message doesn't occupy its memory forever.
async fn time_out(State(timeout): State<Duration>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(timeout, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Status::deadline_exceeded("request timeout").into_http(),
    }
}

fn answer_panic(_: Box<dyn Any + Send>) -> http::Response<Body> {
    panicked().into_http()
}
