//! The entry point of requests: a fast path for single submissions, and routers for all others.
//!
//! A router costs an allocation and a copy per layer, and parses the path twice. The fast path recognizes a submission
//! by method and path, and makes the same checks in the same order.
//!
//! The router of the whole API takes 4 MiB, and a fifth of the time of a start. It is created on demand, because many
//! intakes only get submissions and the requests of monitors.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use axum::response::{IntoResponse, Response};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use http::{Method, Request};
use tower::{Service, ServiceExt as _};

use crate::intake::Intake;
use crate::problem::Problem;
use crate::request::access::BucketAccess;
use crate::request::client_ip::ClientIp;
use crate::router::{check_head, check_host, complete};
use crate::submit::single;

/// The service for all requests. Cheap to clone.
#[derive(Clone)]
pub struct EntryPoint(Arc<EntryPointState>);

struct EntryPointState {
    intake: Intake,
    monitoring: Router,
    router: LazyLock<Router, Box<dyn FnOnce() -> Router + Send>>,
}

impl Intake {
    /// Returns the service for the API.
    pub fn entry_point(&self) -> EntryPoint {
        let intake = self.clone();
        EntryPoint::new(self.clone(), move || intake.router())
    }
}

impl EntryPoint {
    /// Creates the service. `router` must include the API, and may have more routes. It is created for the first
    /// request that needs it.
    pub fn new(intake: Intake, router: impl FnOnce() -> Router + Send + 'static) -> Self {
        let (monitoring, router) = (intake.monitoring(), LazyLock::new(Box::new(router) as _));
        Self(Arc::new(EntryPointState { intake, monitoring, router }))
    }
}

impl Service<Request<Body>> for EntryPoint {
    type Response = Response;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        if is_submission(&request) {
            Box::pin(submit(self.0.intake.clone(), request).map(Ok))
        } else {
            let router = if is_monitoring(request.uri().path()) { &self.0.monitoring } else { &*self.0.router };
            Box::pin(router.clone().oneshot(request))
        }
    }
}

fn is_submission(request: &Request<Body>) -> bool {
    request.method() == Method::POST && bucket_of(request.uri().path()).is_some()
}

fn is_monitoring(path: &str) -> bool {
    matches!(path, "/livez" | "/readyz" | "/metrics")
}

/// Returns the bucket in the path of a submission. Leaves percent-encoded names to the router.
pub(super) fn bucket_of(path: &str) -> Option<&str> {
    let name = path.strip_prefix("/v1/buckets/")?.strip_suffix("/jobs")?;
    (!name.is_empty() && !name.contains(['/', '%'])).then_some(name)
}

async fn submit(intake: Intake, request: Request<Body>) -> Response {
    let result = AssertUnwindSafe(check_and_submit(&intake, request)).catch_unwind().await;
    // The panic hook has logged the panic.
    let mut response = result.unwrap_or_else(|_| Err(Problem::internal())).into_response();
    complete(intake.health(), &mut response);
    response
}

async fn check_and_submit(intake: &Intake, request: Request<Body>) -> Result<Response, Problem> {
    check_head(&request)?;
    check_host(intake, &request)?;
    if intake.health().is_draining() {
        return Err(Problem::draining());
    }
    let (parts, body) = request.into_parts();
    let access = BucketAccess::of(bucket_of(parts.uri.path()).unwrap_or_default(), &parts.headers, intake).await?;
    let ClientIp(address) = ClientIp::of(&parts, intake);
    single::put(intake, access, &parts.uri, address, parts.headers, body).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_submission_is_known_by_its_path() {
        assert_eq!(bucket_of("/v1/buckets/b/jobs"), Some("b"));
        for other in ["/v1/buckets//jobs", "/v1/buckets/a/b/jobs", "/v1/buckets/%62/jobs", "/v1/buckets/b/jobs/", "/"] {
            assert_eq!(bucket_of(other), None, "{other}");
        }
    }
}
