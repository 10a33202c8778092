//! The series of buckets. Of an idle bucket, only values other than zero are exported, without its settings: with
//! thousands of buckets, the page would have megabytes of zeros. Sums over all buckets stay correct.

use std::fmt;

use dripfeed_job::BucketName;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

use super::bucket_sample::BucketSample;

pub(super) struct ShownBucket {
    pub(super) name: BucketName,
    pub(super) sample: BucketSample,
    /// An idle bucket shows only values other than zero.
    pub(super) at_rest: bool,
}

/// One gauge with a value per bucket.
struct BucketGauge {
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
    value: fn(&BucketSample) -> Option<f64>,
    /// Whether the value comes from the settings, so that it isn't zero without jobs.
    of_settings: bool,
}

impl BucketGauge {
    const fn new(name: &'static str, help: &'static str, value: fn(&BucketSample) -> Option<f64>) -> Self {
        Self { name, help, unit: None, value, of_settings: false }
    }

    const fn of_settings(name: &'static str, help: &'static str, value: fn(&BucketSample) -> Option<f64>) -> Self {
        Self { name, help, unit: None, value, of_settings: true }
    }

    fn value(&self, bucket: &ShownBucket) -> Option<f64> {
        (self.value)(&bucket.sample).filter(|value| !bucket.at_rest || !self.of_settings && *value != 0.0)
    }
}

const GAUGES: [BucketGauge; 11] = [
    BucketGauge::new("bucket_level", "Jobs in the bucket", |s| Some(count(s.level))),
    BucketGauge::of_settings("bucket_capacity", "Maximum number of jobs in the bucket", |s| Some(count(s.capacity))),
    BucketGauge::new("bucket_in_flight", "Jobs claimed by a replica", |s| Some(count(s.in_flight))),
    BucketGauge::new("bucket_parked", "Jobs parked until they are due", |s| Some(count(s.parked))),
    BucketGauge::new("bucket_due_soon", "Parked jobs that are due within 30 seconds", |s| Some(count(s.due_soon))),
    BucketGauge {
        name: "bucket_oldest_age",
        help: "Age of the oldest job in the bucket; 0 if it is empty",
        unit: Some(Unit::Seconds),
        value: |s| Some(s.oldest_age_s),
        of_settings: false,
    },
    BucketGauge::new("dead_letters", "Dead letters stored", |s| Some(count(s.dead))),
    BucketGauge::new("outbox_jobs", "Outcome jobs that wait for room in their target bucket", |s| {
        Some(count(s.outbox))
    }),
    BucketGauge::new("outbox_oversized_jobs", "Outcome jobs larger than capacity_bytes of their target bucket", |s| {
        Some(count(s.outbox_oversized))
    }),
    BucketGauge::of_settings("pace_target", "Configured rate in calls per second", |s| s.pace_target),
    BucketGauge::of_settings("pace_effective", "Effective rate in calls per second", |s| s.pace_effective),
];

/// One counter with a value per bucket, stored in Redis for all processes.
struct BucketCounter {
    name: &'static str,
    help: &'static str,
    value: fn(&BucketSample) -> u64,
}

const COUNTERS: [BucketCounter; 4] = [
    BucketCounter {
        name: "dead_letters_dropped",
        help: "Dead letters deleted at the maximum number, bytes or age",
        value: |s| s.dead_dropped,
    },
    BucketCounter {
        name: "dead_letters_replayed",
        help: "Dead letters submitted as new jobs",
        value: |s| s.dead_replayed,
    },
    BucketCounter {
        name: "outbox_handed_over",
        help: "Outcome jobs moved to their target buckets",
        value: |s| s.outbox_handed_over,
    },
    BucketCounter {
        name: "outbox_chains_ended",
        help: "Outcomes without an outcome job, because the chain was at its maximum length",
        value: |s| s.outbox_chains,
    },
];

#[expect(clippy::cast_precision_loss, reason = "Redis never stores more than 2^53 jobs")]
fn count(number: u64) -> f64 {
    number as f64
}

/// # Errors
/// When a metric can't be encoded.
pub(super) fn encode(encoder: &mut DescriptorEncoder, buckets: &[ShownBucket]) -> Result<(), fmt::Error> {
    for gauge in &GAUGES {
        encode_gauge(encoder, gauge, buckets)?;
    }
    encode_reasons(encoder, buckets)?;
    for counter in &COUNTERS {
        encode_counter(encoder, counter, buckets)?;
    }
    Ok(())
}

fn encode_gauge(
    encoder: &mut DescriptorEncoder,
    gauge: &BucketGauge,
    buckets: &[ShownBucket],
) -> Result<(), fmt::Error> {
    let metric_type = ConstGauge::new(0.0).metric_type();
    let mut family = encoder.encode_descriptor(gauge.name, gauge.help, gauge.unit.as_ref(), metric_type)?;
    for bucket in buckets {
        if let Some(value) = gauge.value(bucket) {
            ConstGauge::new(value).encode(family.encode_family(&[("bucket", bucket.name.as_str())])?)?;
        }
    }
    Ok(())
}

/// Encodes one sample per bucket, with the reason as a label.
fn encode_reasons(encoder: &mut DescriptorEncoder, buckets: &[ShownBucket]) -> Result<(), fmt::Error> {
    let reason = ConstGauge::new(1);
    let help = "1, with the reason for the effective rate as a label";
    let mut family = encoder.encode_descriptor("pace_reason", help, None, reason.metric_type())?;
    for ShownBucket { name, sample, at_rest } in buckets {
        if !at_rest || !sample.has_usual_pace() {
            let labels = [("bucket", name.as_str()), ("reason", sample.pace_reason)];
            reason.encode(family.encode_family(&labels)?)?;
        }
    }
    Ok(())
}

fn encode_counter(
    encoder: &mut DescriptorEncoder,
    counter: &BucketCounter,
    buckets: &[ShownBucket],
) -> Result<(), fmt::Error> {
    let metric_type = ConstCounter::new(0_u64).metric_type();
    let mut family = encoder.encode_descriptor(counter.name, counter.help, None, metric_type)?;
    for ShownBucket { name, sample, at_rest } in buckets {
        let value = (counter.value)(sample);
        if !at_rest || value > 0 {
            ConstCounter::new(value).encode(family.encode_family(&[("bucket", name.as_str())])?)?;
        }
    }
    Ok(())
}
