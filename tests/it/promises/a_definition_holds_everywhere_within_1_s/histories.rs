//! Random histories of one name: intakes that know what they have read long ago define, delete and use a bucket, and
//! die between any two of their scripts. `PROPTEST_CASES` sets the number of histories.

/// Requests that define and delete the bucket, script by script.
mod requests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dripfeed_bucket::*;
use dripfeed_job::JobId;
use dripfeed_store::{ServerOptions, Store};
use dripfeed_tests::buckets::{self, DELIVERED, join};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::wall_clock::WallClock;
use fastrand::Rng;

use self::requests::Request;

const INTAKES: usize = 3;
const MOST_REQUESTS: usize = 4;
/// In seconds: longer than a deletion that wasn't decided suspends a bucket.
const LONG: i64 = 70;

/// One incarnation of the bucket.
#[derive(Debug, Default)]
struct Life {
    is_opened: bool,
    /// Whether it was decided that it is deleted.
    is_over: bool,
    jobs: BTreeSet<JobId>,
    ended: u64,
}

struct History<'r> {
    redis: &'r TestRedis,
    clock: &'r WallClock,
    ahead: i64,
    rng: Rng,
    name: String,
    store: Store,
    /// The definitions that each intake knows.
    intakes: Vec<KnownDefinitions>,
    requests: Vec<Request>,
    /// By incarnation.
    lives: BTreeMap<u64, Life>,
    /// The version of the definition for whose deletion the bucket is suspended.
    suspended: Option<u64>,
}

impl<'r> History<'r> {
    async fn new(redis: &'r TestRedis, clock: &'r WallClock, seed: u64) -> Self {
        redis.set_clock(clock, 0).await;
        let intakes = (0..INTAKES).map(|_| KnownDefinitions::default()).collect();
        let (store, name, rng) = (redis.store().await, format!("b{seed}"), Rng::with_seed(seed));
        let (requests, lives) = (Vec::new(), BTreeMap::new());
        Self { redis, clock, ahead: 0, rng, name, store, intakes, requests, lives, suspended: None }
    }

    fn bucket(&self, incarnation: u64) -> Bucket {
        let settings = BucketSettings { capacity: 1000, ..buckets::settings(&self.name) };
        Bucket::defined(self.store.clone(), settings, incarnation)
    }

    async fn step(&mut self) {
        let intake = self.rng.usize(..INTAKES);
        match self.rng.u8(..100) {
            0..25 => self.submit(intake).await,
            25..35 => drop(self.follow(intake).await),
            35..45 => self.deliver().await,
            45..60 if self.requests.len() < MOST_REQUESTS => {
                let definition = self.follow(intake).await;
                let request = match definition {
                    Some(definition) if self.rng.bool() => Request::deletion(definition, self.rng.bool()),
                    definition => Request::definition(definition),
                };
                self.requests.push(request);
            }
            60..63 if !self.requests.is_empty() => {
                let died = self.rng.usize(..self.requests.len());
                self.requests.swap_remove(died);
            }
            63..65 => {
                self.ahead += LONG;
                self.redis.set_clock(self.clock, self.ahead).await;
                self.requests.retain(|request| !request.is_undecided());
            }
            _ if !self.requests.is_empty() => {
                let next = self.rng.usize(..self.requests.len());
                let request = self.requests.swap_remove(next);
                let rest = self.advance(request).await;
                self.requests.extend(rest);
            }
            _ => {}
        }
        let level: u64 = self.redis.ask(&format!("XLEN dripfeed:{{{}}}:jobs", self.name)).await;
        let jobs: usize = self.lives.values().map(|life| life.jobs.len()).sum();
        assert_eq!(level, jobs as u64, "{:?}", self.lives);
    }

    /// Reads the changes, as an intake does at the latest after a second. Returns the definition of the bucket.
    async fn follow(&mut self, intake: usize) -> Option<Arc<Definition>> {
        self.intakes[intake].follow(&self.store).await.expect("Redis answers");
        self.intakes[intake].get(&self.name).cloned()
    }

    fn newest(&self) -> Option<(u64, &Life)> {
        self.lives.last_key_value().map(|(incarnation, life)| (*incarnation, life))
    }

    fn life(&mut self, incarnation: u64) -> &mut Life {
        self.lives.get_mut(&incarnation).expect("it was created")
    }

    /// Submits a job at an intake, which asks for news where the bucket that it knows refuses the job.
    async fn submit(&mut self, intake: usize) {
        if let Some(known) = self.intakes[intake].get(&self.name).cloned() {
            if self.admit(known.incarnation).await {
                return;
            }
            let newest = self.newest().filter(|(incarnation, _)| *incarnation == known.incarnation);
            let is_open = newest.is_some_and(|(_, life)| life.is_opened && !life.is_over) && self.suspended.is_none();
            assert!(!is_open, "refused by {newest:?}");
        }
        let Some(definition) = self.follow(intake).await else {
            assert!(self.newest().is_none_or(|(_, life)| life.is_over), "404 for {:?}", self.newest());
            return;
        };
        let bucket = self.bucket(definition.incarnation);
        match bucket.open_unless_deleted(definition.version).await.expect("Redis answers") {
            ReopenResult::Open => {
                self.opened(definition.incarnation);
                assert!(self.admit(definition.incarnation).await, "refused by a bucket that is open");
            }
            ReopenResult::Suspended => assert!(self.suspended.is_some_and(|version| version >= definition.version)),
            ReopenResult::Gone => assert!(self.life(definition.incarnation).is_over),
        }
    }

    /// Whether the bucket accepts a job.
    async fn admit(&mut self, incarnation: u64) -> bool {
        match self.bucket(incarnation).admit(buckets::job("x")).await {
            Ok(Admission::Admitted(admitted)) => {
                let newest = self.newest().expect("it was created");
                assert!(newest.0 == incarnation && !newest.1.is_over, "{incarnation} accepts jobs: {:?}", self.lives);
                self.life(incarnation).jobs.insert(admitted.id)
            }
            Err(BucketError::Gone | BucketError::Suspended) => false,
            unexpected => panic!("{unexpected:?}"),
        }
    }

    fn opened(&mut self, incarnation: u64) {
        self.life(incarnation).is_opened = true;
        self.suspended = None;
    }

    /// Takes and delivers all jobs of the bucket.
    async fn deliver(&mut self) {
        let Some((incarnation, Life { is_opened: true, is_over: false, .. })) = self.newest() else { return };
        if self.suspended.is_some() {
            return;
        }
        let bucket = self.bucket(incarnation);
        let replica = join(&bucket, &format!("r{}", self.rng.u64(..))).await;
        if let Take::Jobs(taken, _) = replica.take(100).await.expect("Redis answers") {
            for taken in taken {
                assert!(self.life(incarnation).jobs.remove(&taken.claim.id()), "a job of an earlier bucket");
                replica.settle(taken.claim, DELIVERED).await.expect("Redis answers");
                self.life(incarnation).ended += 1;
            }
        }
        replica.leave().await.expect("Redis answers");
        let ended: u64 = bucket.census().await.expect("Redis answers").ended.iter().map(|(_, count)| count).sum();
        assert_eq!(ended, self.life(incarnation).ended, "it came back clean");
    }

    /// A deletion that was interrupted can be completed. Then the name can be used again, at every intake at once.
    async fn finish(mut self) {
        for purge in [true, true] {
            if let Some(definition) = self.follow(0).await {
                self.complete(Request::deletion(definition, purge)).await;
            }
        }
        assert_eq!(self.follow(0).await, None);
        self.complete(Request::definition(None)).await;
        for intake in 0..INTAKES {
            self.submit(intake).await;
            assert_eq!(self.newest().map(|(_, life)| life.jobs.len()), Some(intake + 1), "202 at once");
        }
    }

    async fn complete(&mut self, request: Request) {
        let mut next = Some(request);
        while let Some(request) = next {
            next = self.advance(request).await;
        }
    }
}

#[tokio::test]
async fn whatever_happens_no_deleted_bucket_accepts_a_job_and_a_new_one_is_empty() {
    let clock = WallClock::new();
    let redis = TestRedis::with(ServerOptions { environment: clock.environment(), ..ServerOptions::default() }).await;
    for seed in crate::promises::seeds(40) {
        let mut history = History::new(&redis, &clock, seed).await;
        for _ in 0..100 {
            history.step().await;
        }
        history.finish().await;
    }
}
