//! The metrics of an intake, and their export.

mod bucket_gauges;
mod bucket_sample;
mod bucket_series;
mod exporter;
mod exposition;
mod intake_metrics;
mod known_buckets;
mod limit_metrics;
mod limit_verdicts;
mod prometheus_text;
mod refused_callers;
mod tick_outcome;

pub use self::bucket_gauges::BucketGauges;
pub use self::exporter::MetricsExporter;
pub use self::intake_metrics::IntakeMetrics;
pub use self::limit_metrics::LimitMetrics;
pub(crate) use self::tick_outcome::TickOutcome;
