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

/// Timeout of all reads of a scrape. The scrape omits buckets that aren't read by then.
const READ_TIMEOUT: Duration = Duration::from_secs(3);
/// How many buckets are read concurrently.
const CONCURRENT_READS: usize = 64;

/// Minimum time between two refreshes, however many scrapes come in.
const REFRESH_INTERVAL: Duration = Duration::from_secs(1);

/// Pause between two reads of idle buckets: of ten thousand, each is read about every four minutes.
const IDLE_READ_PAUSE: Duration = Duration::from_millis(25);
/// Idle buckets aren't read again if the last scrape is older than this.
const SCRAPED_WITHIN: Duration = Duration::from_mins(5);
/// Interval of checks while no idle bucket is to be read.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_secs(5);

/// Gauges of Redis and of all buckets. A processor passes no buckets: intakes export theirs. Cheap to clone.
#[derive(Clone)]
pub struct BucketGauges {
    buckets: Arc<Buckets>,
    snapshot: Arc<LastSnapshot>,
    known: Arc<Mutex<KnownBuckets>>,
    /// Time of the last refresh. Locked during a refresh, so that concurrent scrapes share it.
    refreshed_at: Arc<tokio::sync::Mutex<Option<Instant>>>,
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
        let snapshot = Arc::<LastSnapshot>::default();
        registry.register_collector(Box::new(Arc::clone(&snapshot)));
        registry.register("build", "The program", Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]));
        Self { buckets, snapshot, known: Arc::default(), refreshed_at: Arc::default() }
    }

    /// Reads the state of the buckets before an export, unless Redis is down.
    pub(super) async fn refresh(&self, redis: &RedisAccess) {
        let mut last = self.refreshed_at.lock().await;
        if last.is_some_and(|last| last.elapsed() < REFRESH_INTERVAL) {
            return;
        }
        self.take_snapshot(redis).await;
        *last = Some(Instant::now());
    }

    /// Reads idle buckets one after the other, as long as somebody scrapes.
    pub(super) async fn read_idle_buckets(&self) -> Infallible {
        loop {
            let is_scraped = self.refreshed_at.lock().await.is_some_and(|last| last.elapsed() < SCRAPED_WITHIN);
            match is_scraped.then(|| self.next_idle()).flatten() {
                Some(bucket) => {
                    // Boxed, because it would make the role's future large.
                    let (bucket, sample) = Box::pin(read(bucket)).await;
                    self.known.lock().note(&bucket, sample, Instant::now());
                    sleep(IDLE_READ_PAUSE).await;
                }
                None => sleep(IDLE_CHECK_INTERVAL).await,
            }
        }
    }

    /// Returns `None` if there are so few buckets that every scrape reads all of them.
    fn next_idle(&self) -> Option<Bucket> {
        let buckets = self.buckets.all();
        let name = are_many(&buckets).then(|| self.known.lock().next_idle(Instant::now())).flatten()?;
        buckets.get(&name).cloned()
    }

    async fn take_snapshot(&self, redis: &RedisAccess) {
        let buckets = if redis.is_partly_up() { self.read_buckets().await } else { None };
        let buckets = buckets.unwrap_or_else(|| {
            // Redis may come back with other data.
            *self.known.lock() = KnownBuckets::default();
            Vec::new()
        });
        let (redis_up, redis_takes_writes) = (redis.is_up(), redis.takes_writes());
        self.snapshot.0.store(Arc::new(Snapshot { redis_up, redis_takes_writes, buckets }));
    }

    /// Returns `None` if Redis doesn't answer.
    async fn read_buckets(&self) -> Option<Vec<ShownBucket>> {
        let buckets = self.buckets.all();
        let mut wanted: Vec<Bucket> = buckets.values().cloned().collect();
        if are_many(&buckets) {
            let have_jobs = timeout(READ_TIMEOUT, with_jobs(&wanted)).await.ok()?.ok()?;
            let (mut known, now, mut have_jobs) = (self.known.lock(), Instant::now(), have_jobs.into_iter());
            known.keep(&buckets);
            wanted.retain(|bucket| known.begin_reading(bucket, have_jobs.next().unwrap_or(true), now));
        } else {
            // Every scrape reads all of them.
            *self.known.lock() = KnownBuckets::default();
        }
        self.read_all(wanted).await;
        Some(self.known.lock().shown(&buckets, Instant::now()))
    }

    async fn read_all(&self, buckets: Vec<Bucket>) {
        let mut readings = stream::iter(buckets).map(read).buffer_unordered(CONCURRENT_READS);
        let all = async {
            while let Some((bucket, sample)) = readings.next().await {
                self.known.lock().note(&bucket, sample, Instant::now());
            }
        };
        // After a timeout, the buckets that were read by then are shown.
        let _ = timeout(READ_TIMEOUT, all).await;
    }
}

async fn read(bucket: Bucket) -> (Bucket, Option<BucketSample>) {
    let census = timeout(READ_TIMEOUT, bucket.census()).await;
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
