//! The state of every bucket as gauges, refreshed by scrapes, at most once a second.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use dripfeed_bucket::{Buckets, Census};
use dripfeed_job::BucketName;
use futures::future::join_all;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use tokio::sync::Mutex;

/// Timeout of the state of one bucket.
const CENSUS_TIMEOUT: Duration = Duration::from_secs(2);

/// At most one refresh in this time, however many scrapes come in.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);

/// The gauges of a role. Those of buckets are of the intakes: a processor registers none. Cheap to clone.
#[derive(Clone)]
pub struct BucketGauges {
    buckets: Arc<Buckets>,
    seen: Arc<LastSnapshot>,
    /// Time of the last refresh. Locked during a refresh, so that concurrent scrapes share it.
    counted: Arc<Mutex<Option<Instant>>>,
}

/// The result of the last refresh. A bucket whose state couldn't be read is missing, so that no stale value is
/// reported.
#[derive(Default)]
struct LastSnapshot(ArcSwap<Snapshot>);

#[derive(Default)]
struct Snapshot {
    redis_up: bool,
    counted: Vec<(BucketName, Census)>,
}

impl BucketGauges {
    /// Registers the gauges and `build_info`; the registry's prefix goes before their names.
    #[must_use]
    pub fn register(buckets: Arc<Buckets>, registry: &mut Registry) -> Self {
        let seen = Arc::<LastSnapshot>::default();
        registry.register_collector(Box::new(Arc::clone(&seen)));
        registry.register("build", "The program", Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]));
        Self { buckets, seen, counted: Arc::default() }
    }

    /// Reads the state of all buckets before an export; none while Redis is down (`redis_up`).
    pub async fn refresh(&self, redis_up: bool) {
        let mut last = self.counted.lock().await;
        if last.is_some_and(|last| last.elapsed() < REFRESH_INTERVAL) {
            return;
        }
        self.look(redis_up).await;
        *last = Some(Instant::now());
    }

    async fn look(&self, redis_up: bool) {
        let counted = if redis_up { self.count().await } else { Vec::new() };
        self.seen.0.store(Arc::new(Snapshot { redis_up, counted }));
    }

    async fn count(&self) -> Vec<(BucketName, Census)> {
        let buckets = self.buckets.all();
        let counts = buckets.iter().map(|(name, bucket)| async move {
            let census = tokio::time::timeout(CENSUS_TIMEOUT, bucket.census()).await;
            Some((name.clone(), census.ok()?.ok()?))
        });
        join_all(counts).await.into_iter().flatten().collect()
    }
}

impl fmt::Debug for LastSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LastSnapshot")
    }
}

/// One gauge with a value per bucket.
struct BucketGauge {
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
    value: fn(&Census) -> Option<f64>,
}

const GAUGES: [BucketGauge; 9] = [
    BucketGauge { name: "bucket_level", help: "Jobs in the bucket", unit: None, value: |c| Some(count(c.level)) },
    BucketGauge {
        name: "bucket_capacity",
        help: "Maximum number of jobs in the bucket",
        unit: None,
        value: |c| Some(count(c.capacity)),
    },
    BucketGauge {
        name: "bucket_in_flight",
        help: "Jobs claimed by a replica",
        unit: None,
        value: |c| Some(count(c.in_flight)),
    },
    BucketGauge {
        name: "bucket_parked",
        help: "Jobs parked until they are due",
        unit: None,
        value: |c| Some(count(c.parked)),
    },
    BucketGauge {
        name: "bucket_oldest_age",
        help: "Age of the oldest job in the bucket; 0 if it is empty",
        unit: Some(Unit::Seconds),
        value: |c| Some(c.oldest_age.unwrap_or_default().as_secs_f64()),
    },
    BucketGauge { name: "dead_letters", help: "Dead letters stored", unit: None, value: |c| Some(count(c.dead)) },
    BucketGauge {
        name: "outbox_jobs",
        help: "Outcome jobs that wait for room in their target bucket",
        unit: None,
        value: |c| Some(count(c.outbox)),
    },
    BucketGauge {
        name: "pace_target",
        help: "Configured rate in calls per second",
        unit: None,
        value: |c| c.pace.target.as_ref().map(|target| target.per_second),
    },
    BucketGauge {
        name: "pace_effective",
        help: "Effective rate in calls per second",
        unit: None,
        value: |c| c.pace.effective_per_s,
    },
];

/// One counter with a value per bucket, stored in Redis for all processes.
struct BucketCounter {
    name: &'static str,
    help: &'static str,
    value: fn(&Census) -> u64,
}

const COUNTERS: [BucketCounter; 4] = [
    BucketCounter {
        name: "dead_letters_dropped",
        help: "Dead letters deleted at the maximum number, bytes or age",
        value: |c| c.dead_dropped,
    },
    BucketCounter {
        name: "dead_letters_replayed",
        help: "Dead letters submitted as new jobs",
        value: |c| c.dead_replayed,
    },
    BucketCounter {
        name: "outbox_handed_over",
        help: "Outcome jobs moved to their target buckets",
        value: |c| c.outbox_handed_over,
    },
    BucketCounter {
        name: "outbox_chains_ended",
        help: "Outcomes without an outcome job, because the chain was at its maximum length",
        value: |c| c.outbox_chains,
    },
];

#[expect(clippy::cast_precision_loss, reason = "Redis never stores more than 2^53 jobs")]
fn count(number: u64) -> f64 {
    number as f64
}

impl Collector for LastSnapshot {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let snapshot = self.0.load();
        if !snapshot.counted.is_empty() {
            encode_buckets(&mut encoder, &snapshot.counted)?;
        }
        let up = ConstGauge::new(i64::from(snapshot.redis_up));
        up.encode(encoder.encode_descriptor("redis_up", "1 if Redis answers, 0 if not", None, up.metric_type())?)
    }
}

fn encode_buckets(encoder: &mut DescriptorEncoder, counted: &[(BucketName, Census)]) -> Result<(), fmt::Error> {
    for gauge in &GAUGES {
        let values: Vec<(&str, f64)> =
            counted.iter().filter_map(|(name, census)| Some((name.as_str(), (gauge.value)(census)?))).collect();
        encode_gauge(encoder, gauge, &values)?;
    }
    encode_reasons(encoder, counted)?;
    for BucketCounter { name, help, value } in COUNTERS {
        let metric_type = ConstCounter::new(0_u64).metric_type();
        let mut family = encoder.encode_descriptor(name, help, None, metric_type)?;
        for (bucket, census) in counted {
            ConstCounter::new(value(census)).encode(family.encode_family(&[("bucket", bucket.as_str())])?)?;
        }
    }
    Ok(())
}

fn encode_gauge(
    encoder: &mut DescriptorEncoder,
    gauge: &BucketGauge,
    values: &[(&str, f64)],
) -> Result<(), fmt::Error> {
    let metric_type = ConstGauge::new(0.0).metric_type();
    let mut family = encoder.encode_descriptor(gauge.name, gauge.help, gauge.unit.as_ref(), metric_type)?;
    for (bucket, value) in values {
        ConstGauge::new(*value).encode(family.encode_family(&[("bucket", *bucket)])?)?;
    }
    Ok(())
}

/// One sample per bucket: its reason is a label.
fn encode_reasons(encoder: &mut DescriptorEncoder, counted: &[(BucketName, Census)]) -> Result<(), fmt::Error> {
    let reason = ConstGauge::new(1);
    let help = "1, with the reason for the effective rate as a label";
    let mut family = encoder.encode_descriptor("pace_reason", help, None, reason.metric_type())?;
    for (bucket, census) in counted {
        reason.encode(family.encode_family(&[("bucket", bucket.as_str()), ("reason", census.pace.reason)])?)?;
    }
    Ok(())
}
