//! Random histories: a take never returns a job while a job of a higher priority waits.

use std::collections::BTreeMap;
use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::{JobId, Priority, Submission};
use dripfeed_tests::buckets::{self, DELIVERED, changed, join, settle};
use dripfeed_tests::redis_server::TestRedis;
use fastrand::Rng;

use super::of;

const CALLERS: [&str; 5] = ["a", "b", "c", "d", "e"];

struct History<'r> {
    redis: &'r TestRedis,
    bucket: Bucket,
    replica: Replica,
    rng: Rng,
    /// The jobs that may be called now.
    waiting: BTreeMap<JobId, Priority>,
    claimed: Vec<ClaimedJob>,
}

impl<'r> History<'r> {
    async fn new(redis: &'r TestRedis, seed: u64) -> Self {
        let fair = Fair { by: FairBy::Group, ..Fair::default() };
        let settings = BucketSettings { capacity: 5000, fair, ..buckets::settings(&format!("b{seed}")) };
        let bucket = buckets::open(redis, settings).await;
        let replica = join(&bucket, "a").await;
        Self { redis, bucket, replica, rng: Rng::with_seed(seed), waiting: BTreeMap::new(), claimed: Vec::new() }
    }

    fn job(&mut self) -> Submission {
        let priority = Priority::ALL[self.rng.usize(..3)];
        let group = if self.rng.bool() { "x".parse().ok() } else { None };
        Submission { group, ..of(CALLERS[self.rng.usize(..CALLERS.len())], priority) }
    }

    async fn step(&mut self) {
        match self.rng.u8(..100) {
            0..35 => self.admit().await,
            35..75 => self.take().await,
            75..90 => self.settle().await,
            90..95 => {
                let priority = Priority::ALL[self.rng.usize(..3)];
                let add = format!("XADD dripfeed:{{{}}}:jobs * body x priority {priority}", self.bucket.name());
                let id: String = self.redis.ask(&add).await;
                self.waiting.insert(id.parse().unwrap(), priority);
            }
            95..98 => {
                let by = if self.rng.bool() { "caller" } else { "group" };
                self.bucket.apply_overrides(&changed("fair.by", by)).await.unwrap();
            }
            _ => drop(self.bucket.flows(10).await.unwrap()),
        }
    }

    async fn admit(&mut self) {
        let jobs: Vec<_> = (0..self.rng.usize(1..90)).map(|_| self.job()).collect();
        let priorities: Vec<_> = jobs.iter().map(|job| job.priority.unwrap()).collect();
        for (answer, priority) in self.bucket.admit_many(jobs).await.into_iter().zip(priorities) {
            match answer {
                Ok(Admission::Admitted(admitted)) => drop(self.waiting.insert(admitted.id, priority)),
                // A job with a group is refused while callers take turns.
                Err(BucketError::Turns { .. }) | Ok(Admission::Refused(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    async fn take(&mut self) {
        let Take::Jobs(taken, _) = self.replica.take(self.rng.usize(1..60)).await.unwrap() else { return };
        let mut lowest = Priority::High;
        for taken in taken {
            let priority = self.waiting.remove(&taken.claim.id()).expect("one that waits");
            assert_eq!(taken.job.as_ref().unwrap().priority.unwrap_or_default(), priority);
            lowest = lowest.min(priority);
            self.claimed.push(taken);
        }
        let left = self.waiting.values().max();
        assert!(left.is_none_or(|left| *left <= lowest), "{lowest} was handed out, and {left:?} waits");
    }

    async fn settle(&mut self) {
        for _ in 0..self.rng.usize(1..50) {
            let Some(taken) = self.claimed.pop() else { return };
            if self.rng.u8(..3) == 0 {
                let priority = taken.job.as_ref().unwrap().priority.unwrap_or_default();
                self.waiting.insert(taken.claim.id(), priority);
                settle(&self.replica, taken, Settlement::Retry { after: Duration::ZERO }).await;
            } else {
                settle(&self.replica, taken, DELIVERED).await;
            }
        }
    }
}

#[tokio::test]
async fn whatever_happens_no_lower_job_is_called_before_a_higher_one() {
    let redis = TestRedis::start().await;
    for seed in crate::promises::seeds(20) {
        let mut history = History::new(&redis, seed).await;
        for _ in 0..80 {
            history.step().await;
        }
        assert_eq!(history.bucket.examine(false).await.unwrap(), Examination::default());
    }
}
