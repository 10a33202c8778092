//! `/livez`, `/readyz`, `/metrics`: the same for both roles.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::State;
use axum::response::IntoResponse;
use axum::routing::get;
use dripfeed_store::Store;
use http::{HeaderValue, header};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;
use tokio::sync::Mutex;
use tokio_util::sync::CancellationToken;

use crate::gauges::Gauges;
use crate::problem::{Code, Problem};

/// Who asks for readiness waits no longer than this for Redis.
const PING_TIME: Duration = Duration::from_secs(1);
/// Redis is asked no more often than this, however many ask for readiness.
const FRESH: Duration = Duration::from_secs(1);

/// Whether this process is alive, ready for work, and what it measures. Cheap to clone.
#[derive(Clone)]
pub struct Health(Arc<Parts>);

struct Parts {
    store: Store,
    /// When Redis was asked last, and whether it answered. Held while asking: those who come meanwhile share the answer.
    asked: Mutex<Option<(Instant, bool)>>,
    draining: CancellationToken,
    gauges: Gauges,
    registry: Arc<Registry>,
}

impl Health {
    /// `registry` is complete: everybody has registered.
    #[must_use]
    pub fn new(store: Store, gauges: Gauges, registry: Arc<Registry>) -> Self {
        let draining = CancellationToken::new();
        Self(Arc::new(Parts { store, asked: Mutex::default(), draining, gauges, registry }))
    }

    /// Not ready any more, from now on for good.
    pub fn drain(&self) {
        self.0.draining.cancel();
    }

    #[must_use]
    pub fn is_draining(&self) -> bool {
        self.0.draining.is_cancelled()
    }

    /// Cancelled when draining begins.
    pub(crate) fn draining(&self) -> &CancellationToken {
        &self.0.draining
    }

    async fn redis_answers(&self) -> bool {
        let mut asked = self.0.asked.lock().await;
        if let Some((when, answered)) = *asked
            && when.elapsed() < FRESH
        {
            return answered;
        }
        let answered = matches!(tokio::time::timeout(PING_TIME, self.0.store.ping()).await, Ok(Ok(())));
        *asked = Some((Instant::now(), answered));
        answered
    }
}

/// The three calls, for any router. They ask for no key.
pub fn router(health: Health) -> Router {
    Router::new()
        .route("/livez", get(livez))
        .route("/readyz", get(readyz))
        .route("/metrics", get(metrics))
        .with_state(health)
}

/// Alive: the process answers.
#[utoipa::path(get, path = "/livez", tag = "health", security(()), responses(
    (status = 200, description = "The process answers", content_type = "text/plain", body = String)
))]
pub(crate) async fn livez() -> &'static str {
    "alive\n"
}

/// Ready: Redis answers, and this process isn't stopping.
#[utoipa::path(get, path = "/readyz", tag = "health", security(()), responses(
    (status = 200, description = "Ready for work", content_type = "text/plain", body = String),
    (status = 503, description = "`draining`, or `store_unavailable`: Redis doesn't answer",
        content_type = "application/problem+json", body = crate::problem::Document)
))]
pub(crate) async fn readyz(State(health): State<Health>) -> Result<&'static str, Problem> {
    if health.is_draining() {
        return Err(Problem::draining());
    }
    if health.redis_answers().await {
        Ok("ready\n")
    } else {
        Err(Problem::new(Code::StoreUnavailable, "Redis doesn't answer").retry_after(Some(FRESH)))
    }
}

/// What this process measures, as OpenMetrics text.
#[utoipa::path(get, path = "/metrics", tag = "health", security(()), responses(
    (status = 200, description = "OpenMetrics", content_type = "application/openmetrics-text", body = String),
    (status = 500, description = "`internal`", content_type = "application/problem+json",
        body = crate::problem::Document)
))]
pub(crate) async fn metrics(State(health): State<Health>) -> Result<impl IntoResponse, Problem> {
    let redis_up = health.redis_answers().await;
    health.0.gauges.refresh(redis_up).await;
    let mut text = String::new();
    encode(&mut text, &health.0.registry).map_err(|_| Problem::internal())?;
    let openmetrics = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
    Ok(([(header::CONTENT_TYPE, openmetrics)], text))
}
