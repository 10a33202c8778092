//! The state of every bucket as gauges, counted afresh for each scrape.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use dripfeed_bucket::{Buckets, Census};
use dripfeed_job::BucketName;
use futures::future::join_all;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};

/// A scrape waits no longer than this for Redis.
const CENSUS_TIME: Duration = Duration::from_secs(2);

/// The gauges of both roles. Cheap to clone.
#[derive(Clone)]
pub struct Gauges {
    buckets: Arc<Buckets>,
    seen: Arc<Seen>,
}

/// What the last census saw; a bucket that couldn't be counted isn't there, so that no stale figure is told.
#[derive(Default)]
struct Seen(ArcSwap<Snapshot>);

#[derive(Default)]
struct Snapshot {
    redis_up: bool,
    counted: Vec<(BucketName, Census)>,
}

impl Gauges {
    /// Registers them, and `build_info`; the registry's prefix goes before their names.
    #[must_use]
    pub fn register(buckets: Arc<Buckets>, registry: &mut Registry) -> Self {
        let seen = Arc::<Seen>::default();
        registry.register_collector(Box::new(Arc::clone(&seen)));
        registry.register("build", "The program", Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]));
        Self { buckets, seen }
    }

    /// Counts all buckets, for the encoding that follows. `redis_up` is told by who asked Redis just now; while it is
    /// down nobody counts.
    pub async fn refresh(&self, redis_up: bool) {
        let counted = if redis_up { self.count().await } else { Vec::new() };
        self.seen.0.store(Arc::new(Snapshot { redis_up, counted }));
    }

    async fn count(&self) -> Vec<(BucketName, Census)> {
        let buckets = self.buckets.all();
        let counts = buckets.iter().map(|(name, bucket)| async move {
            let census = tokio::time::timeout(CENSUS_TIME, bucket.census()).await;
            Some((name.clone(), census.ok()?.ok()?))
        });
        join_all(counts).await.into_iter().flatten().collect()
    }
}

impl fmt::Debug for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seen")
    }
}

/// One gauge over all buckets: name, help, unit, and its value where there is one.
struct GaugeOf {
    name: &'static str,
    help: &'static str,
    unit: Option<Unit>,
    value: fn(&Census) -> Option<f64>,
}

const GAUGES: [GaugeOf; 8] = [
    GaugeOf { name: "bucket_level", help: "Jobs in the bucket", unit: None, value: |c| Some(count(c.level)) },
    GaugeOf {
        name: "bucket_capacity",
        help: "The most jobs it may hold",
        unit: None,
        value: |c| Some(count(c.capacity)),
    },
    GaugeOf {
        name: "bucket_in_flight",
        help: "Jobs that a replica has",
        unit: None,
        value: |c| Some(count(c.in_flight)),
    },
    GaugeOf {
        name: "bucket_parked",
        help: "Jobs that wait for their due time",
        unit: None,
        value: |c| Some(count(c.parked)),
    },
    GaugeOf {
        name: "bucket_oldest_age",
        help: "Age of the oldest job in the bucket, 0 when empty",
        unit: Some(Unit::Seconds),
        value: |c| Some(c.oldest_age.unwrap_or_default().as_secs_f64()),
    },
    GaugeOf { name: "dead_letters", help: "Dead letters kept", unit: None, value: |c| Some(count(c.dead)) },
    GaugeOf {
        name: "pace_target",
        help: "Calls per second that the bucket may leak",
        unit: None,
        value: |c| c.pace.target.as_ref().map(|target| target.per_second),
    },
    GaugeOf {
        name: "pace_effective",
        help: "Calls per second that it leaks now",
        unit: None,
        value: |c| c.pace.effective_per_s,
    },
];

#[expect(clippy::cast_precision_loss, reason = "a count beyond 2^53 fits no Redis")]
fn count(number: u64) -> f64 {
    number as f64
}

impl Collector for Seen {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let snapshot = self.0.load();
        for gauge in &GAUGES {
            let values: Vec<(&str, f64)> = snapshot
                .counted
                .iter()
                .filter_map(|(name, census)| Some((name.as_str(), (gauge.value)(census)?)))
                .collect();
            encode_gauge(&mut encoder, gauge, &values)?;
        }
        let up = ConstGauge::new(i64::from(snapshot.redis_up));
        up.encode(encoder.encode_descriptor("redis_up", "Whether Redis answers", None, up.metric_type())?)
    }
}

fn encode_gauge(encoder: &mut DescriptorEncoder, gauge: &GaugeOf, values: &[(&str, f64)]) -> Result<(), fmt::Error> {
    let metric_type = ConstGauge::new(0.0).metric_type();
    let mut family = encoder.encode_descriptor(gauge.name, gauge.help, gauge.unit.as_ref(), metric_type)?;
    for (bucket, value) in values {
        ConstGauge::new(*value).encode(family.encode_family(&[("bucket", *bucket)])?)?;
    }
    Ok(())
}
