//! Random histories: whatever happens to a bucket and to its index of turns, no job is lost, none is claimed twice at
//! once, and each ends once. `PROPTEST_CASES` sets the number of histories, as for the model check.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::{JobId, Priority, StartTime, Submission};
use dripfeed_tests::buckets::{DELIVERED, changed, join};
use dripfeed_tests::redis_server::TestRedis;
use fastrand::Rng;
use serde_json::json;

use super::of;

/// Most jobs have no priority, so that at some times jobs with one wait, and at others none.
const PRIORITIES: [Option<Priority>; 6] = [None, None, None, None, Some(Priority::High), Some(Priority::Low)];
const GROUPS: [Option<&str>; 6] = [None, None, None, None, Some("a"), Some("x")];
const CALLERS: [&str; 10] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];

struct History<'r> {
    redis: &'r TestRedis,
    bucket: Bucket,
    rng: Rng,
    replicas: Vec<Replica>,
    joined: usize,
    held: BTreeMap<JobId, (usize, ClaimedJob)>,
    /// Jobs whose entry was deleted by hand.
    deleted: BTreeSet<JobId>,
    /// How many jobs were ever added to the bucket.
    added: u64,
    named: String,
}

impl<'r> History<'r> {
    async fn new(redis: &'r TestRedis, seed: u64) -> Self {
        let named = format!("b{seed}");
        let settings = BucketSettings { capacity: 2000, deliveries: 1000, ..super::buckets::settings(&named) };
        let bucket = super::buckets::open(redis, settings).await;
        let replicas = vec![join(&bucket, "r0").await];
        let (rng, held) = (Rng::with_seed(seed), BTreeMap::new());
        Self { redis, bucket, rng, replicas, joined: 1, held, deleted: BTreeSet::new(), added: 0, named }
    }

    fn key(&self, name: &str) -> String {
        format!("dripfeed:{{{}}}:{name}", self.named)
    }

    fn job(&mut self) -> Submission {
        let caller = CALLERS[self.rng.usize(..CALLERS.len())];
        let size = if self.rng.u8(..20) == 0 { 100_000 } else { self.rng.usize(..300) };
        let start = if self.rng.u8(..10) == 0 { StartTime::After(Duration::from_millis(5)) } else { StartTime::AtOnce };
        let priority = PRIORITIES[self.rng.usize(..PRIORITIES.len())];
        let group = GROUPS[self.rng.usize(..GROUPS.len())].and_then(|group| group.parse().ok());
        Submission { start, priority, group, ..of(caller, "x".repeat(size)) }
    }

    async fn step(&mut self) {
        match self.rng.u8(..100) {
            0..30 => {
                let jobs = (0..self.rng.usize(1..80)).map(|_| self.job()).collect();
                let answers = self.bucket.admit_many(jobs).await;
                // Jobs with a priority or a group are refused where turns don't go by it.
                let answers = answers.into_iter().filter(|answer| !matches!(answer, Err(BucketError::Turns { .. })));
                let answers = answers.map(Result::unwrap);
                self.added += answers.filter(|answer| matches!(answer, Admission::Admitted(_))).count() as u64;
            }
            30..55 => self.take().await,
            55..75 => self.settle().await,
            75..80 => {
                for _ in 0..self.rng.u8(1..40) {
                    let caller = CALLERS[self.rng.usize(..CALLERS.len())];
                    let options = ["", " priority high", " priority no", " group x"][self.rng.usize(..4)];
                    let add = format!("XADD {} * body by-hand caller {caller}{options}", self.key("jobs"));
                    self.redis.ask::<String>(&add).await;
                    self.added += 1;
                }
            }
            80..83 => self.delete_by_hand().await,
            83..86 => {
                let keys = [self.key("flows"), self.key("ranges"), [self.key("flows"), self.key("ranges")].join(" ")];
                self.redis.ask::<u64>(&format!("DEL {}", keys[self.rng.usize(..3)])).await;
            }
            86..90 => self.end_replica().await,
            90..93 => {
                let weights = json!({ "a": self.rng.u16(1..=1000), "b": self.rng.u16(1..=5) });
                self.bucket.apply_overrides(&changed("fair.weights", weights)).await.unwrap();
            }
            93..95 => {
                let by = ["off", "caller", "group"][self.rng.usize(..3)];
                self.bucket.apply_overrides(&changed("fair.by", by)).await.unwrap();
            }
            95..98 => {
                let caller = Some(CALLERS[self.rng.usize(..CALLERS.len())].to_owned());
                self.bucket.cancel_many(&JobFilter { caller, ..JobFilter::default() }).await.unwrap();
            }
            98 => drop(self.bucket.flows(10).await.unwrap()),
            _ => drop(self.bucket.purge().await.unwrap()),
        }
    }

    async fn take(&mut self) {
        let (replica, most) = (self.rng.usize(..self.replicas.len()), self.rng.usize(1..60));
        let Take::Jobs(taken, _) = self.replicas[replica].take(most).await.unwrap() else { return };
        assert!(taken.len() <= most);
        for taken in taken {
            let before = self.held.insert(taken.claim.id(), (replica, taken));
            assert!(before.is_none(), "handed out twice at once");
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

    async fn delete_by_hand(&mut self) {
        let some: Vec<(String, Vec<String>)> =
            self.redis.ask(&format!("XRANGE {} - + COUNT 3", self.key("jobs"))).await;
        for (id, _) in some {
            let parsed: JobId = id.parse().unwrap();
            if !self.held.contains_key(&parsed) {
                self.redis.ask::<u64>(&format!("XDEL {} {id}", self.key("jobs"))).await;
                self.deleted.insert(parsed);
            }
        }
    }

    /// A replica leaves or dies, and another one joins.
    async fn end_replica(&mut self) {
        let at = self.rng.usize(..self.replicas.len());
        if self.rng.bool() {
            self.replicas[at].leave().await.unwrap();
        } else {
            self.bucket.declare_dead(self.replicas[at].consumer()).await.unwrap();
        }
        self.held.retain(|_, (replica, _)| *replica != at);
        let name = format!("r{}", self.joined);
        self.joined += 1;
        self.replicas[at] = join(&self.bucket, &name).await;
        if self.replicas.len() < 3 {
            let name = format!("r{}", self.joined);
            self.joined += 1;
            self.replicas.push(join(&self.bucket, &name).await);
        }
    }

    /// Settles all jobs, and checks that nothing is left.
    async fn finish(&mut self) {
        let mut idle = 0;
        while self.bucket.census().await.unwrap().level > 0 {
            self.take().await;
            idle = if self.held.is_empty() { idle + 1 } else { 0 };
            assert!(idle < 2000, "{:?}", self.bucket.examine(false).await.unwrap());
            while !self.held.is_empty() {
                self.settle().await;
            }
        }
        let census = self.bucket.census().await.unwrap();
        assert_eq!((census.waiting, census.in_flight), (0, 0));
        let ended: u64 = census.ended.iter().map(|(_, count)| count).sum();
        assert_eq!(ended, self.added - self.deleted.len() as u64, "each that nobody deleted has ended, once");
        // Deleted jobs may still be pending.
        self.bucket.examine(true).await.unwrap();
        let left = self.bucket.examine(false).await.unwrap().findings;
        assert!(left.iter().all(|finding| finding.kind == FindingKind::Lost), "{left:?}");
    }
}

#[tokio::test]
async fn whatever_happens_no_job_is_outside() {
    let redis = TestRedis::start().await;
    for seed in crate::promises::seeds(40) {
        let mut history = History::new(&redis, seed).await;
        for _ in 0..60 {
            history.step().await;
            let census = history.bucket.census().await.unwrap();
            let deleted = history.deleted.len() as u64;
            let sum = census.waiting + census.in_flight + census.parked;
            assert!(sum.abs_diff(census.level) <= deleted, "{census:?}");
        }
        history.finish().await;
    }
}
