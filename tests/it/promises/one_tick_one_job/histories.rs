//! Random histories: intakes submit ticks that they have read long ago, the clock of Redis is set, the bucket is full,
//! and schedules are defined again, paused and ended meanwhile. `PROPTEST_CASES` sets the number of histories.

/// Clients that define, pause and resume schedules, and submit jobs.
mod changes;
/// Which tick has which job, and how many ticks have come.
mod ledger;

use std::collections::BTreeMap;
use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::Submission;
use dripfeed_job::schedule::{Missed, Overlap, Policy};
use dripfeed_store::ServerOptions;
use dripfeed_tests::buckets::{self, DELIVERED, join, open};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::wall_clock::WallClock;
use fastrand::Rng;

use self::ledger::{Ledger, TickOf};
use super::{every, id};

const SCHEDULES: [&str; 2] = ["one", "two"];
const INTAKES: usize = 3;
/// In seconds.
const PERIOD: u64 = 10;
const CAPACITY: u64 = 4;

/// By definition.
const POLICIES: [(&str, Missed, Option<Duration>, Overlap); 5] = [
    ("latest", Missed::Latest, None, Overlap::Allow),
    ("all", Missed::All, None, Overlap::Allow),
    ("skip", Missed::Skip, Some(Duration::from_secs(15)), Overlap::Allow),
    ("latest alone", Missed::Latest, None, Overlap::Skip),
    ("all alone", Missed::All, None, Overlap::Skip),
];

fn policy(definition: &str) -> Policy {
    let known = POLICIES.into_iter().find(|(name, ..)| *name == definition).expect("one of these");
    Policy { missed: known.1, grace: known.2, overlap: known.3 }
}

fn job(name: &str, tick: u64) -> Submission {
    buckets::job(format!("{name} {tick}"))
}

struct History<'r> {
    redis: &'r TestRedis,
    clock: &'r WallClock,
    /// How far the clock of Redis is ahead, in seconds.
    ahead: i64,
    rng: Rng,
    intakes: Vec<Bucket>,
    replica: Replica,
    /// What each intake has read.
    looks: Vec<DueSchedules>,
    /// What a client has read.
    seen: BTreeMap<&'static str, KnownSchedule>,
    ledger: Ledger,
}

impl<'r> History<'r> {
    async fn new(redis: &'r TestRedis, clock: &'r WallClock, seed: u64) -> Self {
        redis.set_clock(clock, 0).await;
        let settings = BucketSettings { capacity: CAPACITY, ..buckets::settings(&format!("b{seed}")) };
        let (mut intakes, mut looks) = (Vec::new(), Vec::new());
        for _ in 0..INTAKES {
            let bucket = open(redis, settings.clone()).await;
            looks.push(super::look(&bucket).await);
            intakes.push(bucket);
        }
        let replica = join(&intakes[0], "r").await;
        let (rng, seen) = (Rng::with_seed(seed), BTreeMap::new());
        Self { redis, clock, ahead: 0, rng, intakes, replica, looks, seen, ledger: Ledger::default() }
    }

    async fn step(&mut self) {
        let (intake, name) = (self.rng.usize(..INTAKES), SCHEDULES[self.rng.usize(..SCHEDULES.len())]);
        match self.rng.u8(..100) {
            0..20 => self.look(intake).await,
            20..45 => self.submit(intake).await,
            45..55 => {
                self.look(intake).await;
                self.submit(intake).await;
            }
            55..67 => {
                let ahead = self.rng.i64(1..40);
                self.move_clock(ahead).await;
            }
            67..70 => {
                let back = self.rng.i64(1..20);
                self.move_clock(-back).await;
            }
            70..82 => self.call().await,
            82..90 => self.define(name).await,
            90..94 => self.switch(name).await,
            94..96 => drop(self.intakes[0].end_schedule(&id(name), self.seen.get(name)).await.expect("Redis answers")),
            96..98 => self.submit_by_hand(name).await,
            _ => self.seen.extend(self.schedule(name).await.1.map(|known| (name, known))),
        }
    }

    async fn look(&mut self, intake: usize) {
        self.looks[intake] = super::look(&self.intakes[intake]).await;
    }

    async fn move_clock(&mut self, seconds: i64) {
        self.ahead += seconds;
        self.redis.set_clock(self.clock, self.ahead).await;
    }

    /// The time by the clock of Redis, and the schedule.
    async fn schedule(&self, name: &str) -> (u64, Option<KnownSchedule>) {
        self.intakes[0].schedule(&id(name)).await.expect("Redis answers")
    }

    async fn schedules(&self) -> BTreeMap<&'static str, KnownSchedule> {
        let mut all = BTreeMap::new();
        for name in SCHEDULES {
            all.extend(self.schedule(name).await.1.map(|known| (name, known)));
        }
        all
    }

    /// Submits the ticks that an intake has read, again if it has submitted them before, as after a lost reply.
    async fn submit(&mut self, intake: usize) {
        let (bucket, found) = (self.intakes[intake].clone(), self.looks[intake].clone());
        let (begun_ms, before) = (super::now_ms(self.redis).await, self.schedules().await);
        let (mut jobs, mut ticks, mut passed) = (Vec::new(), Vec::new(), Vec::new());
        for known in &found.due {
            let (policy, from) = (policy(&known.definition), known.next_ms.expect("it is due"));
            let may_overlap = policy.overlap == Overlap::Allow;
            for step in policy.steps(&every(PERIOD), from, found.now_ms) {
                let Some(tick) = step.tick else {
                    passed.push((known, step));
                    continue;
                };
                jobs.extend(TickJob::new(known, step, may_overlap, job(known.id.as_str(), tick)));
                ticks.push(TickOf { known, from: step.from, tick, may_overlap });
            }
        }
        if !passed.is_empty() {
            bucket.pass_ticks(&passed).await.expect("Redis answers");
        }
        let ends = bucket.submit_ticks(jobs).await.expect("Redis answers");
        let ended_ms = super::now_ms(self.redis).await;
        self.ledger.submitted(&before, ticks.into_iter().zip(ends), [begun_ms, ended_ms]);
        self.ledger.compare(&before, &self.schedules().await);
    }

    /// Calls some of the jobs.
    async fn call(&mut self) {
        let most = self.rng.usize(1..5);
        if let Take::Jobs(taken, _) = self.replica.take(most).await.expect("Redis answers") {
            for taken in taken {
                self.ledger.called(taken.claim.id());
                self.replica.settle(taken.claim, DELIVERED).await.expect("Redis answers");
            }
        }
    }

    /// Ends when no tick is due and no job is left.
    async fn finish(mut self) {
        for rounds in 0.. {
            assert!(rounds < 100, "{:?}", self.schedules().await);
            self.look(0).await;
            self.submit(0).await;
            self.call().await;
            self.look(0).await;
            if self.looks[0].due.is_empty() && self.ledger.all_were_called() {
                break;
            }
        }
        assert_eq!(self.intakes[0].level().await.expect("Redis answers"), 0);
    }
}

#[tokio::test]
async fn whatever_happens_a_tick_has_one_job_or_is_counted() {
    let clock = WallClock::new();
    let redis = TestRedis::with(ServerOptions { environment: clock.environment(), ..ServerOptions::default() }).await;
    for seed in crate::promises::seeds(40) {
        let mut history = History::new(&redis, &clock, seed).await;
        for _ in 0..80 {
            history.step().await;
        }
        history.finish().await;
    }
}
