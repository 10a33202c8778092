//! This process's metrics as OpenMetrics text.

use std::fmt;
use std::sync::Arc;

use axum::response::{IntoResponse, Response};
use dripfeed_http::Health;
use http::{HeaderValue, header};
use prometheus_client::encoding::text::encode;
use prometheus_client::registry::Registry;

use crate::metrics::bucket_gauges::BucketGauges;

/// Encodes a registry, after refreshing the bucket gauges. Cheap to clone.
#[derive(Clone)]
pub struct MetricsExporter {
    health: Health,
    gauges: BucketGauges,
    registry: Arc<Registry>,
}

impl MetricsExporter {
    /// `registry` is complete: no metric is registered later.
    #[must_use]
    pub const fn new(health: Health, gauges: BucketGauges, registry: Arc<Registry>) -> Self {
        Self { health, gauges, registry }
    }

    #[must_use]
    pub const fn health(&self) -> &Health {
        &self.health
    }

    pub(crate) async fn export(&self) -> Result<Response, fmt::Error> {
        self.gauges.refresh(self.health.redis_answers().await).await;
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        let openmetrics = HeaderValue::from_static("application/openmetrics-text; version=1.0.0; charset=utf-8");
        Ok(([(header::CONTENT_TYPE, openmetrics)], text).into_response())
    }
}
