//! The state of every bucket as gauges, refreshed by scrapes, at most once a second.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use dripfeed_bucket::{Bucket, Buckets, with_jobs};
use dripfeed_http::RedisAccess;
use futures::{StreamExt as _, stream};
use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use tokio::time::{sleep, timeout};

use super::bucket_sample::BucketSample;
use super::bucket_series::{self, ShownBucket};
use super::known_buckets::{KnownBuckets, are_many};

/// Timeout of all reads of a scrape. Buckets that aren't read by then are missing.
const PATIENCE: Duration = Duration::from_secs(3);
/// Buckets that are read at once.
const AT_ONCE: usize = 64;

/// At most one refresh in this time, however many scrapes come in.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);

/// Pause between two reads of idle buckets: of ten thousand, each is read about every four minutes.
const APART: Duration = Duration::from_millis(25);
/// Idle buckets aren't read again if the last scrape is older than this.
const SCRAPED_WITHIN: Duration = Duration::from_mins(5);
/// Interval of checks while nothing is to be read.
const NOTHING_TO_READ: Duration = Duration::from_secs(5);

/// The gauges of a role. Those of buckets are of the intakes: a processor registers none. Cheap to clone.
#[derive(Clone)]
pub struct BucketGauges {
    buckets: Arc<Buckets>,
    seen: Arc<LastSnapshot>,
    known: Arc<Mutex<KnownBuckets>>,
    /// Time of the last refresh. Locked during a refresh, so that concurrent scrapes share it.
    counted: Arc<tokio::sync::Mutex<Option<Instant>>>,
}

/// The result of the last refresh. A bucket whose state couldn't be read is missing, so that no stale value is
/// reported.
#[derive(Default)]
struct LastSnapshot(ArcSwap<Snapshot>);

#[derive(Default)]
struct Snapshot {
    redis_up: bool,
    redis_takes_writes: bool,
    buckets: Vec<ShownBucket>,
}

impl BucketGauges {
    /// Registers the gauges and `build_info`; the registry's prefix goes before their names.
    #[must_use]
    pub fn register(buckets: Arc<Buckets>, registry: &mut Registry) -> Self {
        let seen = Arc::<LastSnapshot>::default();
        registry.register_collector(Box::new(Arc::clone(&seen)));
        registry.register("build", "The program", Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]));
        Self { buckets, seen, known: Arc::default(), counted: Arc::default() }
    }

    /// Reads the state of buckets before an export; none while Redis is down.
    pub(super) async fn refresh(&self, redis: &RedisAccess) {
        let mut last = self.counted.lock().await;
        if last.is_some_and(|last| last.elapsed() < REFRESH_INTERVAL) {
            return;
        }
        self.look(redis).await;
        *last = Some(Instant::now());
    }

    /// Reads buckets at rest again, while somebody scrapes.
    pub(super) async fn read_those_at_rest(&self) -> Infallible {
        loop {
            let is_scraped = self.counted.lock().await.is_some_and(|last| last.elapsed() < SCRAPED_WITHIN);
            match is_scraped.then(|| self.next_at_rest()).flatten() {
                Some(bucket) => {
                    // Boxed: it would make the future of the role a large one.
                    let (bucket, sample) = Box::pin(read(bucket)).await;
                    self.known.lock().note(&bucket, sample, Instant::now());
                    sleep(APART).await;
                }
                None => sleep(NOTHING_TO_READ).await,
            }
        }
    }

    /// None: there are few, which every scrape reads.
    fn next_at_rest(&self) -> Option<Bucket> {
        let buckets = self.buckets.all();
        let name = are_many(&buckets).then(|| self.known.lock().next_at_rest(Instant::now())).flatten()?;
        buckets.get(&name).cloned()
    }

    async fn look(&self, redis: &RedisAccess) {
        let counted = if redis.is_partly_up() { self.count().await } else { None };
        let buckets = counted.unwrap_or_else(|| {
            // Redis may come back as another one.
            *self.known.lock() = KnownBuckets::default();
            Vec::new()
        });
        let (redis_up, redis_takes_writes) = (redis.is_up(), redis.takes_writes());
        self.seen.0.store(Arc::new(Snapshot { redis_up, redis_takes_writes, buckets }));
    }

    /// None: Redis doesn't answer.
    async fn count(&self) -> Option<Vec<ShownBucket>> {
        let buckets = self.buckets.all();
        let mut wanted: Vec<Bucket> = buckets.values().cloned().collect();
        if are_many(&buckets) {
            let have_jobs = timeout(PATIENCE, with_jobs(&wanted)).await.ok()?.ok()?;
            let (mut known, now, mut have_jobs) = (self.known.lock(), Instant::now(), have_jobs.into_iter());
            known.keep(&buckets);
            wanted.retain(|bucket| known.begin_reading(bucket, have_jobs.next().unwrap_or(true), now));
        } else {
            // All are read.
            *self.known.lock() = KnownBuckets::default();
        }
        self.read_all(wanted).await;
        Some(self.known.lock().shown(&buckets, Instant::now()))
    }

    async fn read_all(&self, buckets: Vec<Bucket>) {
        let mut readings = stream::iter(buckets).map(read).buffer_unordered(AT_ONCE);
        let all = async {
            while let Some((bucket, sample)) = readings.next().await {
                self.known.lock().note(&bucket, sample, Instant::now());
            }
        };
        // Those that were read by then are shown.
        let _ = timeout(PATIENCE, all).await;
    }
}

async fn read(bucket: Bucket) -> (Bucket, Option<BucketSample>) {
    let census = timeout(PATIENCE, bucket.census()).await;
    let sample = census.ok().and_then(Result::ok).map(BucketSample::from);
    (bucket, sample)
}

impl fmt::Debug for LastSnapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LastSnapshot")
    }
}

impl Collector for LastSnapshot {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let snapshot = self.0.load();
        if !snapshot.buckets.is_empty() {
            bucket_series::encode(&mut encoder, &snapshot.buckets)?;
        }
        let mut gauge = |name, help, is_so| {
            let gauge = ConstGauge::new(i64::from(is_so));
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)
        };
        gauge("redis_up", "1 if Redis answers, 0 if not", snapshot.redis_up)?;
        gauge("redis_takes_writes", "1 if Redis takes writes, 0 if not", snapshot.redis_takes_writes)
    }
}
