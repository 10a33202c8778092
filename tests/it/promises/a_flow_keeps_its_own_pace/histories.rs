//! Random histories of a bucket, its replicas and its settings. No caller gets more calls than it may, no job is lost,
//! each ends once, and the state of the callers matches the calls in flight. `PROPTEST_CASES` sets the number of
//! histories.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use dripfeed_bucket::*;
use dripfeed_job::{JobId, Priority, StartTime, Submission};
use dripfeed_tests::buckets::{DELIVERED, changed, join};
use dripfeed_tests::redis_server::TestRedis;
use fastrand::Rng;
use serde_json::{Value as Json, json};

use super::{caller_of, of};

const CALLERS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
const PRIORITIES: [Option<Priority>; 5] = [None, None, None, Some(Priority::High), Some(Priority::Low)];

struct History<'r> {
    redis: &'r TestRedis,
    named: String,
    bucket: Bucket,
    rng: Rng,
    replicas: Vec<Replica>,
    joined: usize,
    held: BTreeMap<JobId, (usize, ClaimedJob)>,
    added: u64,
    /// The most calls in flight of each caller.
    most: Option<usize>,
    burst: Option<u64>,
    paused: Option<&'static str>,
    /// When the rate or the burst was last changed, and the calls of each caller since then.
    since: (Instant, BTreeMap<String, u64>),
}

/// So slow that a history gets only the burst.
const RATE: &str = "1/h";

impl<'r> History<'r> {
    async fn new(redis: &'r TestRedis, seed: u64) -> Self {
        let named = format!("b{seed}");
        let settings = BucketSettings { capacity: 2000, deliveries: 1000, ..super::buckets::settings(&named) };
        let bucket = super::buckets::open(redis, settings).await;
        let replicas = vec![join(&bucket, "r0").await, join(&bucket, "r1").await];
        let (rng, held, since) = (Rng::with_seed(seed), BTreeMap::new(), (Instant::now(), BTreeMap::new()));
        let (most, burst, paused) = (None, None, None);
        Self { redis, named, bucket, rng, replicas, joined: 2, held, added: 0, most, burst, paused, since }
    }

    fn job(&mut self) -> Submission {
        let caller = CALLERS[self.rng.usize(..CALLERS.len())];
        let start = if self.rng.u8(..10) == 0 { StartTime::After(Duration::from_millis(5)) } else { StartTime::AtOnce };
        let priority = PRIORITIES[self.rng.usize(..PRIORITIES.len())];
        let size = if self.rng.u8(..20) == 0 { 100_000 } else { 10 };
        Submission { start, priority, body: "x".repeat(size).into(), ..of(caller) }
    }

    async fn change(&self, name: &str, value: impl Into<Json>) {
        self.bucket.apply_overrides(&changed(name, value)).await.unwrap();
    }

    async fn step(&mut self) {
        match self.rng.u8(..100) {
            0..25 => {
                let jobs: Vec<_> = (0..self.rng.usize(1..60)).map(|_| self.job()).collect();
                let answers = self.bucket.admit_many(jobs).await.into_iter().map(Result::unwrap);
                self.added += answers.filter(|answer| matches!(answer, Admission::Admitted(_))).count() as u64;
            }
            25..60 => self.take().await,
            60..78 => self.settle().await,
            78..84 => self.end_replica().await,
            84..88 => {
                self.most = Some(self.rng.usize(1..8)).filter(|_| self.rng.u8(..4) > 0);
                self.change("fair.max_in_flight", self.most.map_or(Json::Null, Json::from)).await;
            }
            88..91 => self.change_rate().await,
            91..94 => {
                self.paused = Some(CALLERS[self.rng.usize(..CALLERS.len())]).filter(|_| self.rng.bool());
                let paused = self.paused.map_or(json!({}), |caller| json!({ caller: { "paused": true } }));
                self.change("fair.flows", paused).await;
            }
            94..96 => {
                let caller = Some(CALLERS[self.rng.usize(..CALLERS.len())].to_owned());
                self.bucket.cancel_many(&JobFilter { caller, ..JobFilter::default() }).await.unwrap();
            }
            96 => drop(self.bucket.flows(10).await.unwrap()),
            97 => {
                let keys = ["flows", "ranges", "throttled"].map(|name| format!("dripfeed:{{{}}}:{name}", self.named));
                self.redis.ask::<u64>(&format!("DEL {}", keys.join(" "))).await;
            }
            98 => {
                let key = format!("dripfeed:{{{}}}:flow-state", self.named);
                self.redis.ask::<u64>(&format!("DEL {key}")).await;
            }
            _ => drop(self.bucket.purge().await.unwrap()),
        }
    }

    async fn change_rate(&mut self) {
        self.burst = Some(self.rng.u64(1..20)).filter(|_| self.rng.bool());
        self.change("fair.burst", self.burst.unwrap_or(1)).await;
        self.change("fair.rate", self.burst.map_or(Json::Null, |_| RATE.into())).await;
        self.since = (Instant::now(), BTreeMap::new());
    }

    async fn take(&mut self) {
        let (replica, most) = (self.rng.usize(..self.replicas.len()), self.rng.usize(1..60));
        let Take::Jobs(taken, _) = self.replicas[replica].take(most).await.unwrap() else { return };
        let mut gained: BTreeMap<String, usize> = BTreeMap::new();
        for taken in taken {
            let caller = caller_of(&taken);
            assert_ne!(self.paused, Some(caller.as_str()));
            *gained.entry(caller.clone()).or_default() += 1;
            *self.since.1.entry(caller).or_default() += 1;
            assert!(self.held.insert(taken.claim.id(), (replica, taken)).is_none(), "handed out twice at once");
        }
        for caller in gained.keys() {
            let under_way = self.held.values().filter(|(_, taken)| caller_of(taken) == *caller).count();
            assert!(self.most.is_none_or(|most| under_way <= most), "{caller}: {under_way} of {:?}", self.most);
            let calls = self.since.1[caller];
            assert!(self.burst.is_none_or(|burst| calls <= burst), "{caller}: {calls} of {:?}", self.burst);
        }
    }

    async fn settle(&mut self) {
        for _ in 0..self.rng.usize(1..40) {
            let Some((_, (replica, taken))) = self.held.pop_first() else { return };
            let end = match self.rng.u8(..10) {
                0 => Settlement::Requeue,
                1 => Settlement::Retry { after: Duration::ZERO },
                2 => Settlement::Retry { after: Duration::from_millis(3) },
                _ => DELIVERED,
            };
            self.replicas[replica].settle(taken.claim, end).await.unwrap();
        }
    }

    /// A replica leaves, dies, or forgets its claimed jobs, and another one joins.
    async fn end_replica(&mut self) {
        let at = self.rng.usize(..self.replicas.len());
        self.held.retain(|_, (replica, _)| *replica != at);
        match self.rng.u8(..3) {
            0 => self.replicas[at].leave().await.unwrap(),
            1 => drop(self.bucket.declare_dead(self.replicas[at].consumer()).await.unwrap()),
            _ => return self.replicas[at].doubt(),
        }
        self.joined += 1;
        self.replicas[at] = join(&self.bucket, &format!("r{}", self.joined)).await;
    }

    /// Leaves only the bound of calls in flight. Then all jobs must be called.
    async fn finish(&mut self) {
        (self.most, self.burst, self.paused) = (Some(3), None, None);
        self.change("fair.rate", Json::Null).await;
        self.change("fair.flows", json!({})).await;
        self.change("fair.max_in_flight", 3).await;
        let mut idle = 0;
        while self.bucket.census().await.unwrap().level > 0 {
            self.take().await;
            idle = if self.held.is_empty() { idle + 1 } else { 0 };
            assert!(idle < 2000, "{:?}", self.bucket.examine(false).await.unwrap());
            while !self.held.is_empty() {
                self.settle().await;
            }
        }
        let ended: u64 = self.bucket.census().await.unwrap().ended.iter().map(|(_, count)| count).sum();
        assert_eq!(ended, self.added, "each has ended, once");
        assert!(self.bucket.examine(false).await.unwrap().findings.is_empty());
        let state: BTreeMap<String, String> =
            self.redis.ask(&format!("HGETALL dripfeed:{{{}}}:flow-state", self.named)).await;
        let is_of_all = |name: &str| ["clock", "there", "came"].contains(&name) || name.starts_with("called");
        for (name, state) in state.iter().filter(|(name, _)| !is_of_all(name)) {
            assert!(!name.contains('-') && state.starts_with("0 "), "{name}: {state}");
        }
    }
}

#[tokio::test]
async fn whatever_happens_nobody_gets_more_than_it_may() {
    let redis = TestRedis::start().await;
    for seed in crate::promises::seeds(40) {
        let mut history = History::new(&redis, seed).await;
        for _ in 0..80 {
            history.step().await;
            let census = history.bucket.census().await.unwrap();
            assert_eq!(census.waiting + census.in_flight + census.parked, census.level, "{census:?}");
        }
        history.finish().await;
    }
}
