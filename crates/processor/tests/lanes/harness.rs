use std::time::Duration;

use dripfeed_bucket::{Admission, Bucket, BucketSettings, EndedJob};
use dripfeed_job::{JobId, Submission};
use dripfeed_processor::{Connector, Processor, ProcessorSettings, Upstream};
use dripfeed_store::{Durability, PrivateServer, RedisSettings, ServerOptions, Store};
use dripfeed_tests::buckets;
use dripfeed_trace::Tracer;
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::upstream::PATIENCE;

/// Gone with the test.
pub struct Harness {
    pub redis: PrivateServer,
    pub store: Store,
    _folder: TempDir,
}

impl Harness {
    pub async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let redis = PrivateServer::start(folder.path(), ServerOptions::default()).await.unwrap();
        let store = connect(&redis).await;
        Self { redis, store, _folder: folder }
    }

    pub fn bucket(&self, settings: BucketSettings) -> Bucket {
        Bucket::new(self.store.clone(), settings)
    }

    pub async fn bucket_of_another_process(&self, settings: BucketSettings) -> Bucket {
        Bucket::new(connect(&self.redis).await, settings)
    }

    /// Returns when the store reaches it again.
    pub async fn redis_comes_back(&mut self) {
        self.redis.start_again().await.unwrap();
        timeout(PATIENCE, async { while self.store.ping().await.is_err() {} }).await.expect("the store reconnects");
    }

    /// Adds an entry as anybody may with `redis-cli`.
    pub async fn add_by_hand(&self, bucket: &str, field: &str, value: &str) -> JobId {
        let mut add = redis::cmd("XADD");
        add.arg(format!("dripfeed:{{{bucket}}}:jobs")).arg("*").arg(field).arg(value);
        self.store.command::<String>(&add).await.unwrap().parse().unwrap()
    }
}

/// Calls have more time than a busy machine stands still for.
async fn connect(redis: &PrivateServer) -> Store {
    let (connect_timeout, response_timeout) = (Duration::from_secs(2), Duration::from_secs(2));
    let settings = RedisSettings::new(redis.address(), "dripfeed", Durability::Everysec);
    Store::connect(&RedisSettings { connect_timeout, response_timeout, ..settings }).await.unwrap()
}

/// A processor at work.
pub struct Work {
    pub processor: Processor,
    registry: Registry,
    stop: CancellationToken,
    run: JoinHandle<()>,
}

impl Work {
    pub fn begin(lanes: Vec<(Bucket, Upstream)>) -> Self {
        Self::with(lanes, PATIENCE)
    }

    pub fn with(lanes: Vec<(Bucket, Upstream)>, drain: Duration) -> Self {
        Self::set_to(lanes, drain, PATIENCE, None)
    }

    pub fn traced(lanes: Vec<(Bucket, Upstream)>, tracer: Tracer) -> Self {
        Self::set_to(lanes, PATIENCE, PATIENCE, Some(tracer))
    }

    pub fn soon_on_standby(lanes: Vec<(Bucket, Upstream)>) -> Self {
        Self::set_to(lanes, PATIENCE, Duration::from_millis(100), None)
    }

    fn set_to(
        lanes: Vec<(Bucket, Upstream)>,
        drain: Duration,
        standby_after: Duration,
        tracer: Option<Tracer>,
    ) -> Self {
        let (name, lease) = (Some("east".to_owned()), Duration::from_secs(3));
        let settings = ProcessorSettings { name, lease, standby_after, histograms_by_bucket: true, drain };
        let mut registry = Registry::with_prefix("dripfeed");
        let processor = Processor::new(settings, Connector::new().unwrap(), tracer, &mut registry);
        let stop = CancellationToken::new();
        let run = tokio::spawn({
            let (processor, stop) = (processor.clone(), stop.clone());
            async move { processor.run(lanes, stop).await }
        });
        Self { processor, registry, stop, run }
    }

    pub fn metrics(&self) -> String {
        let mut metrics = String::new();
        text::encode(&mut metrics, &self.registry).unwrap();
        metrics
    }

    pub fn stop(&self) {
        self.stop.cancel();
    }

    pub async fn ended(self) {
        self.stop.cancel();
        timeout(PATIENCE, self.run).await.expect("the processor returns").unwrap();
    }
}

pub fn settings(name: &str) -> BucketSettings {
    let mut settings = buckets::settings(name);
    settings.leak.max_hold = Duration::from_mins(1);
    settings.leak.default_hold = Duration::from_millis(10);
    settings.retry.max = Duration::from_millis(50);
    settings.keep.answer_bytes = 100;
    settings
}

pub fn job(body: &str) -> Submission {
    Submission { body: body.to_owned().into(), ..Submission::default() }
}

pub async fn admitted(bucket: &Bucket, job: Submission) -> JobId {
    match bucket.admit(job).await.unwrap() {
        Admission::Admitted(admitted) => admitted.id,
        Admission::Refused(refused) => panic!("{refused:?}"),
    }
}

pub async fn outcome(bucket: &Bucket, id: JobId) -> EndedJob {
    bucket.await_outcome(id, PATIENCE).await.unwrap().expect("the job ends within the patience")
}
