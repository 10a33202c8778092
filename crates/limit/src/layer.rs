//! A tower layer that limits any HTTP service.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use dripfeed_store::{FailureReport, RecurringFailure};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::request::Parts;
use http::{HeaderValue, Request as HttpRequest, Response, StatusCode};
use serde_json::{Value as Json, json};
use tower::{Layer, Service};

use crate::decide::decision::Decision;
use crate::error::LimitError;
use crate::limiter::Limiter;
use crate::policy::request::{DotSegments, Request};

/// The sender of a request, as identified by the application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    pub caller: Option<String>,
    pub tenant: Option<String>,
    pub ip: Option<IpAddr>,
}

type Identify = Arc<dyn Fn(&Parts) -> Identity + Send + Sync>;

/// Refuses requests over a limit before they reach the service: with 429, the policy's message and `Retry-After`; or
/// with 503 if a limit can't be checked and its policy is `closed`. Responses to limited requests have the remaining
/// quota in headers. A path with a segment `.` or `..` gets 400, because policies for the resolved path wouldn't match.
///
/// Policies match the path that the layer gets. In a router that is nested under `/api`, axum has removed that prefix:
/// put the layer around the outer router, or write the policies without the prefix.
///
/// Leases of `concurrent` tiers are released when the service has answered.
#[derive(Clone)]
pub struct LimitLayer {
    limiter: Limiter,
    identify: Identify,
    older_fields: bool,
}

impl LimitLayer {
    /// Creates a layer without identities; see [`LimitLayer::identify`].
    ///
    /// # Errors
    /// When a policy counts by a field of the body, which this layer doesn't read.
    pub fn new(limiter: Limiter) -> Result<Self, LimitError> {
        limiter.refuse_body_fields()?;
        Ok(Self { limiter, identify: Arc::new(|_| Identity::default()), older_fields: false })
    }

    /// Sets the function that identifies the sender of a request by its head.
    #[must_use]
    pub fn identify(self, identify: impl Fn(&Parts) -> Identity + Send + Sync + 'static) -> Self {
        Self { identify: Arc::new(identify), ..self }
    }

    /// Adds the older headers `x-ratelimit-*`.
    #[must_use]
    pub fn with_older_fields(self) -> Self {
        Self { older_fields: true, ..self }
    }
}

impl<S> Layer<S> for LimitLayer {
    type Service = LimitService<S>;

    fn layer(&self, inner: S) -> LimitService<S> {
        LimitService { inner, layer: self.clone() }
    }
}

/// A service behind a [`LimitLayer`].
#[derive(Clone)]
pub struct LimitService<S> {
    inner: S,
    layer: LimitLayer,
}

impl<S, B, R> Service<HttpRequest<B>> for LimitService<S>
where
    S: Service<HttpRequest<B>, Response = Response<R>> + Clone + Send + 'static,
    S::Future: Send,
    B: Send + 'static,
    R: From<String>,
{
    type Response = Response<R>;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<R>, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: HttpRequest<B>) -> Self::Future {
        // Calls the service that was polled ready, not its clone.
        let next = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, next);
        let layer = self.layer.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            // If the service resolves dot segments, it answers for another path than the policies matched.
            if let Err(error) = Request::new("", head.uri.path()).check_path() {
                return Ok(bad_path(&error));
            }
            let decision = match layer.decide(&head).await {
                Ok(decision) => decision,
                Err(error) => return Ok(unavailable(&error)),
            };
            if !decision.allowed {
                return Ok(layer.with_fields(refused(&decision), &decision));
            }
            let guard = LeaseGuard { limiter: layer.limiter.clone(), decision };
            let response = inner.call(HttpRequest::from_parts(head, body)).await?;
            Ok(layer.with_fields(response, &guard.decision))
        })
    }
}

impl LimitLayer {
    async fn decide(&self, head: &Parts) -> Result<Decision, LimitError> {
        let identity = (self.identify)(head);
        let request = Request {
            headers: Some(&head.headers),
            caller: identity.caller.as_deref(),
            tenant: identity.tenant.as_deref(),
            ip: identity.ip,
            ..Request::new(head.method.as_str(), head.uri.path())
        };
        self.limiter.decide(&request).await
    }

    fn with_fields<R>(&self, mut response: Response<R>, decision: &Decision) -> Response<R> {
        response.headers_mut().extend(decision.fields());
        if self.older_fields {
            response.headers_mut().extend(decision.older_fields());
        }
        response
    }
}

/// Releases the leases of a request when it ends, also if it is cancelled.
struct LeaseGuard {
    limiter: Limiter,
    decision: Decision,
}

impl Drop for LeaseGuard {
    fn drop(&mut self) {
        if self.decision.has_leases() {
            let (limiter, decision) = (self.limiter.clone(), self.decision.clone());
            tokio::spawn(async move {
                if let Err(error) = limiter.release(decision).await {
                    tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "could not return a lease; it expires after its maximum duration"
                    );
                }
            });
        }
    }
}

fn refused<R: From<String>>(decision: &Decision) -> Response<R> {
    let violated: Vec<&str> = decision.violated().map(|verdict| verdict.policy.id().as_str()).collect();
    let retry = decision.retry_after().map(dripfeed_job::duration::ms_up);
    problem(
        StatusCode::TOO_MANY_REQUESTS,
        &json!({
            "type": "about:blank",
            "title": "Too many requests",
            "status": 429,
            "code": "caller_limit",
            "detail": decision.message().unwrap_or_else(|| "this caller has exceeded a rate limit".to_owned()),
            "violated_policies": violated,
            "retry_after_ms": retry,
        }),
    )
}

/// Rate-limited, because it may happen with every request.
fn log_unchecked(error: &LimitError) {
    static FAILURES: RecurringFailure = RecurringFailure::new();

    let error = error as &dyn std::error::Error;
    match FAILURES.occurred() {
        Some(FailureReport::Begun) => tracing::warn!(error, "request refused: could not check its rate limit"),
        Some(FailureReport::Lasts(times)) => {
            tracing::warn!(error, times, "requests refused: could not check their rate limits");
        }
        None => tracing::debug!(error, "request refused: could not check its rate limit"),
    }
}

fn unavailable<R: From<String>>(error: &LimitError) -> Response<R> {
    log_unchecked(error);
    let mut response = problem(
        StatusCode::SERVICE_UNAVAILABLE,
        &json!({
            "type": "about:blank",
            "title": "Limits can't be checked now",
            "status": 503,
            "code": "store_unavailable",
            "detail": "the rate limit can't be checked now; retry later",
        }),
    );
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

fn bad_path<R: From<String>>(error: &DotSegments) -> Response<R> {
    problem(
        StatusCode::BAD_REQUEST,
        &json!({
            "type": "about:blank",
            "title": "Invalid path",
            "status": 400,
            "code": "bad_path",
            "detail": format!("path: {error}"),
        }),
    )
}

fn problem<R: From<String>>(status: StatusCode, problem: &Json) -> Response<R> {
    let mut response = Response::new(R::from(problem.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
    response
}
