//! All calls there are, and what lies around them.

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use dripfeed_intake::Keys;
use dripfeed_limit::Services;
use envoy_types::pb::envoy::service::ratelimit::v3::rate_limit_service_server::RateLimitServiceServer;
use tonic::Status;
use tonic::service::Routes;
use tower_http::catch_panic::CatchPanicLayer;

use crate::access::Access;
use crate::envoy::Envoy;
use crate::proto::rate_limiter_server::RateLimiterServer;
use crate::service::RateLimiter;

/// The rules of a service are at most 64 KiB as JSON.
const LARGEST_MESSAGE: usize = 128 * 1024;

/// What the calls are set to: plain data, read and checked by the executable.
#[derive(Clone, Copy, Debug)]
pub struct GrpcSettings {
    /// For a request to arrive and to be answered.
    pub timeout: Duration,
    /// Whether answers also carry the older `x-ratelimit-*` fields.
    pub x_ratelimit_headers: bool,
}

/// The calls, to be served over HTTP/2.
pub fn router(services: Services, keys: Arc<Keys>, settings: GrpcSettings) -> Router {
    let access = Access::new(keys);
    let envoy = Envoy::new(services.clone(), access.clone(), settings.x_ratelimit_headers);
    let envoy = RateLimitServiceServer::new(envoy).max_decoding_message_size(LARGEST_MESSAGE);
    let ours = RateLimiterServer::new(RateLimiter::new(services, access)).max_decoding_message_size(LARGEST_MESSAGE);
    Routes::new(ours)
        .add_service(envoy)
        .into_axum_router()
        .layer(from_fn_with_state(settings.timeout, within))
        .layer(CatchPanicLayer::custom(answer_panic))
}

/// A message that drips doesn't hold its memory for ever.
async fn within(State(timeout): State<Duration>, request: Request, next: Next) -> Response {
    match tokio::time::timeout(timeout, next.run(request)).await {
        Ok(response) => response,
        Err(_) => Status::deadline_exceeded("the request took too long to arrive").into_http(),
    }
}

/// The panic itself was told by the panic hook.
fn answer_panic(_: Box<dyn Any + Send>) -> http::Response<Body> {
    Status::internal("the log of this intake tells more").into_http()
}
