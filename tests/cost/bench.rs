//! One bucket, one replica and one thread, so that all allocations of a step are counted.

use std::collections::BTreeMap;

use axum::body::Body;
use dripfeed_bucket::{Bucket, BucketLimits, BucketSettings, ClaimedJob, Replica, SettleResult, Settlement};
use dripfeed_intake::EntryPoint;
use dripfeed_job::Submission;
use dripfeed_store::Store;
use dripfeed_tests::buckets::{self, admitted};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_trace::Tracer;
use futures::future::try_join_all;
use http::{Request, Response, StatusCode};
use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt as _;

use crate::front;

/// What one step took, by what it is.
pub type Cost = BTreeMap<String, u64>;

pub struct Bench {
    /// In each batch.
    pub jobs: usize,
    bucket: Bucket,
    replica: Replica,
    store: Store,
    _redis: TestRedis,
    runtime: Runtime,
}

impl Bench {
    pub fn of(settings: BucketSettings, jobs: usize) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let (redis, store, bucket, replica) = runtime.block_on(async {
            let redis = TestRedis::start().await;
            let bucket = buckets::open(&redis, settings).await;
            let replica = buckets::join(&bucket, "a").await;
            let store = redis.store().await;
            (redis, store, bucket, replica)
        });
        Self { jobs, bucket, replica, store, _redis: redis, runtime }
    }

    pub fn front(&self, tracer: Option<Tracer>) -> EntryPoint {
        self.runtime.block_on(front::open(&self.store, &self.bucket, tracer))
    }

    /// Three tiers for each caller, none of which refuses anything.
    pub fn limit_callers(&self) {
        let policy = json!({ "id": "each", "key": ["caller"], "tiers": [
            { "kind": "bucket", "rate": "100000/s", "burst": 100_000 },
            { "kind": "sliding", "limit": 10_000_000, "period": "1m" },
            { "kind": "fixed", "limit": 1_000_000_000, "period": "1d" },
        ] });
        self.bucket.set_limits(&BucketLimits::read("limits", vec![policy]).unwrap_or_else(|error| panic!("{error}")));
    }

    /// Up to its capacity of one job.
    pub fn fill(&self) {
        self.runtime.block_on(buckets::submit(&self.bucket, buckets::job("first")));
    }

    pub async fn admit(&self, jobs: Vec<Submission>) {
        self.bucket.admit_many(jobs).await.into_iter().for_each(|admission| _ = admitted(admission));
    }

    /// Each of a POST, all at once.
    pub async fn post(&self, front: &EntryPoint, requests: Vec<Request<Body>>) -> Vec<StatusCode> {
        let answers = requests.into_iter().map(|request| front.clone().oneshot(request));
        let answers = try_join_all(answers).await.unwrap_or_else(|never| match never {});
        answers.iter().map(Response::status).collect()
    }

    pub async fn take(&self) -> Vec<ClaimedJob> {
        let taken = buckets::take(&self.replica, self.jobs).await;
        assert_eq!(taken.len(), self.jobs);
        taken
    }

    pub async fn settle(&self, taken: Vec<ClaimedJob>, settlement: &Settlement) {
        let settled = taken.into_iter().map(|taken| self.replica.settle(taken.claim, settlement.clone()));
        let settled = try_join_all(settled).await.expect("Redis answers");
        assert!(settled.iter().all(|settled| *settled == SettleResult::Recorded));
    }

    /// Commands of Redis by their names, and `allocations`.
    pub fn cost_of<T>(&self, step: impl Future<Output = T>) -> (Cost, T) {
        // What the step before left to be done is done meanwhile.
        let before = self.runtime.block_on(self.commands());
        let mut done = None;
        let allocated = allocation_counter::measure(|| done = Some(self.runtime.block_on(step)));
        let mut cost = self.runtime.block_on(self.commands());
        cost.iter_mut().for_each(|(name, calls)| *calls -= before.get(name).unwrap_or(&0));
        cost.insert("allocations".to_owned(), allocated.count_total);
        (cost, done.expect("the step has ended"))
    }

    /// How often each has been called so far.
    async fn commands(&self) -> Cost {
        let text: String = self.store.command(redis::cmd("INFO").arg("commandstats")).await.expect("statistics");
        let calls = |line: &str| {
            let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
            Some((name.to_owned(), rest.split(',').next()?.parse().ok()?))
        };
        // It counts itself.
        text.lines().filter_map(calls).filter(|(name, _)| name != "info").collect()
    }
}
