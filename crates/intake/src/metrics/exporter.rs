//! The metrics of this process, as a scrape requests them.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use dripfeed_http::Health;
use http::{HeaderMap, HeaderValue, header};
use prometheus_client::registry::Registry;

use crate::metrics::bucket_gauges::BucketGauges;
use crate::metrics::exposition::Exposition;

/// Encodes a registry, after refreshing the bucket gauges. Cheap to clone.
#[derive(Clone)]
pub struct MetricsExporter {
    health: Health,
    gauges: BucketGauges,
    registry: Arc<Registry>,
}

impl MetricsExporter {
    /// Creates the exporter. No metric can be registered in `registry` later.
    #[must_use]
    pub const fn new(health: Health, gauges: BucketGauges, registry: Arc<Registry>) -> Self {
        Self { health, gauges, registry }
    }

    #[must_use]
    pub const fn health(&self) -> &Health {
        &self.health
    }

    /// Keeps the state of idle buckets fresh, as long as somebody scrapes.
    pub async fn keep_fresh(&self) -> Infallible {
        self.gauges.read_idle_buckets().await
    }

    /// Encodes the metrics in the format that the request `headers` ask for.
    ///
    /// # Errors
    /// When a metric can't be encoded.
    pub(crate) async fn export(&self, headers: &HeaderMap) -> Result<Response, fmt::Error> {
        self.gauges.refresh(&self.health.redis().await).await;
        let form = Exposition::wanted(headers);
        let vary = HeaderValue::from_static("accept");
        let text = form.encode(&self.registry)?;
        Ok(([(header::CONTENT_TYPE, form.content_type()), (header::VARY, vary)], text).into_response())
    }
}
