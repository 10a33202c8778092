//! The metrics of an intake, and their export as OpenMetrics text.

mod bucket_gauges;
mod exporter;
mod intake_metrics;
mod limit_metrics;
mod limit_verdicts;

pub use self::bucket_gauges::BucketGauges;
pub use self::exporter::MetricsExporter;
pub use self::intake_metrics::IntakeMetrics;
pub(crate) use self::intake_metrics::TickOutcome;
pub use self::limit_metrics::LimitMetrics;
