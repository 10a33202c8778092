//! The real bucket, which executes the steps. The model checks all results.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::{JobId, Priority, StartTime, Submission};
use dripfeed_tests::buckets::{self, DELIVERED, changed, join};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::wall_clock::WallClock;
use serde_json::{Value as Json, json};

use super::ledger::{Flow, Known, Ledger, Place};
use super::order::Order;
use super::rules::{Bounds, CALLERS, Rules};
use super::step::{End, Leaving, Offer, Step};
use super::windows::Windows;

static BUCKETS: AtomicUsize = AtomicUsize::new(0);
/// So few jobs that a few takes sort all of them again.
const CAPACITY: u64 = 400;

pub struct History<'r> {
    pub(super) redis: &'r TestRedis,
    clock: &'r WallClock,
    /// The furthest that the clock was ahead, in s.
    furthest: i64,
    /// Whether the clock was set since the last take that counted callers' own paces.
    pub(super) is_clock_set: bool,
    named: String,
    pub(super) bucket: Bucket,
    pub(super) replicas: Vec<Replica>,
    joined: usize,
    pub(super) held: BTreeMap<JobId, (usize, ClaimedJob)>,
    pub(super) ledger: Ledger,
    pub(super) rules: Rules,
    pub(super) windows: Windows,
    pub(super) order: Order,
}

impl<'r> History<'r> {
    pub async fn new(redis: &'r TestRedis, clock: &'r WallClock) -> Self {
        redis.set_clock(clock, 0).await;
        let named = format!("b{}", BUCKETS.fetch_add(1, Ordering::Relaxed));
        let settings = BucketSettings { capacity: CAPACITY, deliveries: 1000, ..buckets::settings(&named) };
        let bucket = buckets::open(redis, settings).await;
        let mut replicas = Vec::new();
        for name in ["r0", "r1", "r2"] {
            replicas.push(join(&bucket, name).await);
        }
        let (held, ledger, rules) = (BTreeMap::new(), Ledger::default(), Rules::default());
        let (windows, order) = (Windows::new(), Order::default());
        Self {
            redis,
            clock,
            furthest: 0,
            is_clock_set: false,
            named,
            bucket,
            replicas,
            joined: 3,
            held,
            ledger,
            rules,
            windows,
            order,
        }
    }

    pub(super) fn key(&self, name: &str) -> String {
        format!("dripfeed:{{{}}}:{name}", self.named)
    }

    pub async fn step(&mut self, step: &Step) {
        match step {
            Step::Admit(offers) => self.admit(offers).await,
            Step::AddByHand(offers) => self.add_by_hand(offers).await,
            Step::DeleteByHand(most) => self.delete_by_hand(*most).await,
            Step::Take { replica, most } => self.take_and_look(*replica, *most).await,
            Step::Settle(ends) => self.settle(ends).await,
            Step::EndReplica(replica, how) => self.end_replica(*replica, *how).await,
            Step::SetBy(by) => self.set("fair.by", json!(by), |rules| rules.by = *by).await,
            Step::SetWeights(weights) => {
                let weights = weights.iter().map(|(caller, weight)| (CALLERS[*caller], *weight)).collect();
                self.set("fair.weights", Json::Null, |rules| rules.weights = weights).await;
            }
            Step::SetEach(bounds) => self.set_each(*bounds).await,
            Step::SetNamed(named) => {
                let named = named.map(|(caller, bounds, paused)| (CALLERS[caller], bounds, paused));
                self.set("fair.flows", Json::Null, |rules| rules.named = named).await;
            }
            Step::CancelAllOf(caller) => {
                let caller = CALLERS[*caller];
                let filter = JobFilter { caller: Some(caller.to_owned()), ..JobFilter::default() };
                self.bucket.cancel_many(&filter).await.expect("Redis answers");
                self.see_what_is_gone(|job| job.caller == caller).await;
            }
            Step::Purge => {
                self.bucket.purge().await.expect("Redis answers");
                self.see_what_is_gone(|_| true).await;
            }
            Step::Lose(names) => {
                let keys: Vec<_> = names.iter().map(|name| self.key(name)).collect();
                self.redis.ask::<u64>(&format!("DEL {}", keys.join(" "))).await;
                self.order.lose();
            }
            Step::LookAtFlows => drop(self.bucket.flows(10).await.expect("Redis answers")),
            Step::SetClock(ahead) => {
                self.redis.set_clock(self.clock, *ahead).await;
                self.is_clock_set = true;
                self.furthest = self.furthest.max(*ahead);
            }
            Step::TimePasses(ms) => tokio::time::sleep(Duration::from_millis(*ms)).await,
        }
        let census = self.bucket.census().await.expect("Redis answers");
        assert_eq!(census.level, self.ledger.jobs.len() as u64, "after {step:?}");
    }

    async fn admit(&mut self, offers: &[Offer]) {
        // Jobs with a priority or a group are refused where turns don't go by it.
        let may = |offer: &&Offer| match self.rules.by {
            "group" => true,
            "caller" => offer.group.is_none(),
            _ => offer.group.is_none() && offer.priority.is_none(),
        };
        let offers: Vec<_> = offers.iter().filter(may).collect();
        let answers = self.bucket.admit_many(offers.iter().map(|offer| submission(offer)).collect()).await;
        for (offer, answer) in offers.iter().zip(answers) {
            if let Admission::Admitted(admitted) = answer.expect("Redis answers") {
                let place = if offer.delayed { Place::Soon } else { Place::Waiting };
                let caller = CALLERS[offer.caller];
                self.ledger.add(admitted.id, caller, Flow::new(caller, offer.group, offer.priority), place);
            }
        }
    }

    async fn add_by_hand(&mut self, offers: &[Offer]) {
        for offer in offers {
            let caller = CALLERS[offer.caller];
            let mut add = format!("XADD {} * body by-hand caller {caller}", self.key("jobs"));
            for (name, value) in [("group", offer.group), ("priority", offer.priority)] {
                add.extend(value.map(|value| format!(" {name} {value}")));
            }
            let id: String = self.redis.ask(&add).await;
            let flow = Flow::new(caller, offer.group, offer.priority);
            self.ledger.add(id.parse().expect("an id"), caller, flow, Place::Waiting);
        }
    }

    async fn delete_by_hand(&mut self, most: u8) {
        let unclaimed = self.ledger.jobs.iter().filter(|(_, job)| job.place.is_unclaimed()).map(|(id, _)| *id);
        for id in unclaimed.take(most.into()).collect::<Vec<_>>() {
            let gone: u64 = self.redis.ask(&format!("XDEL {} {id}", self.key("jobs"))).await;
            self.ledger.jobs.remove(&id);
            self.ledger.deleted += gone;
        }
        self.order.lose();
    }

    /// Jobs that a deletion of keys has left unsorted are found to be cancelled only by the next takes.
    async fn see_what_is_gone(&mut self, may_be: impl Fn(&Known) -> bool) {
        let entries: Vec<(String, Vec<String>)> = self.redis.ask(&format!("XRANGE {} - +", self.key("jobs"))).await;
        let there: BTreeSet<JobId> = entries.iter().map(|(id, _)| id.parse().expect("an id")).collect();
        let gone = self.ledger.jobs.extract_if(.., |id, _| !there.contains(id));
        for (id, job) in gone.collect::<Vec<_>>() {
            assert!(may_be(&job) && job.place.is_unclaimed(), "{id} was cancelled: {job:?}");
        }
    }

    /// The rules are changed first, because the setting's new value is read from them.
    async fn set(&mut self, name: &str, value: Json, change: impl FnOnce(&mut Rules)) {
        change(&mut self.rules);
        self.order.begin();
        let value = match name {
            "fair.weights" => self.rules.weights(),
            "fair.flows" => self.rules.flows(),
            _ => value,
        };
        self.bucket.apply_overrides(&changed(name, value)).await.expect("Redis answers");
        if self.rules.is_bounded() {
            self.windows.change(&self.rules);
        } else {
            self.windows.forget();
        }
    }

    async fn set_each(&mut self, bounds: Bounds) {
        self.set("fair.rate", bounds.rate.map_or(Json::Null, |(rate, _)| rate.into()), |rules| {
            rules.each.rate = bounds.rate;
        })
        .await;
        self.set("fair.burst", bounds.burst.into(), |rules| rules.each.burst = bounds.burst).await;
        self.set("fair.tiers", bounds.tiers(), |rules| rules.each.tiers = bounds.tiers).await;
        let most = bounds.most.map_or(Json::Null, Json::from);
        self.set("fair.max_in_flight", most, |rules| rules.each.most = bounds.most).await;
    }

    async fn settle(&mut self, ends: &[End]) {
        for end in ends {
            let Some((id, (replica, taken))) = self.held.pop_first() else { return };
            let (settlement, place) = match end {
                End::Deliver => (DELIVERED, None),
                End::Requeue => (Settlement::Requeue, Some(Place::Soon)),
                End::RetryAtOnce => (Settlement::Retry { after: Duration::ZERO }, Some(Place::Soon)),
                End::RetryLater => (Settlement::Retry { after: Duration::from_millis(3) }, Some(Place::Soon)),
            };
            self.replicas[replica].settle(taken.claim, settlement).await.expect("Redis answers");
            match place {
                Some(place) => self.ledger.jobs.entry(id).and_modify(|job| job.place = place),
                None => {
                    self.ledger.jobs.remove(&id);
                    continue;
                }
            };
        }
    }

    async fn end_replica(&mut self, at: usize, how: Leaving) {
        let place = if matches!(how, Leaving::Forgetful) { Place::Forgotten(at) } else { Place::Soon };
        for (id, _) in self.held.extract_if(.., |_, (replica, _)| *replica == at) {
            self.ledger.jobs.entry(id).and_modify(|job| job.place = place);
        }
        match how {
            Leaving::InOrder => self.replicas[at].leave().await.expect("Redis answers"),
            Leaving::Dead => {
                let recovered = self.bucket.declare_dead(self.replicas[at].consumer()).await.expect("Redis answers");
                assert!(recovered.is_some(), "no heart beats alone here");
            }
            Leaving::Forgetful => return self.replicas[at].doubt(),
        }
        for job in self.ledger.jobs.values_mut().filter(|job| job.place == Place::Forgotten(at)) {
            job.place = Place::Soon;
        }
        self.replicas[at] = join(&self.bucket, &format!("r{}", self.joined)).await;
        self.joined += 1;
    }

    /// Leaves only the bound of calls in flight. Then all jobs must be called, and nothing may be left.
    pub async fn finish(mut self) {
        // Jobs that were parked while the clock was ahead are due, too.
        self.redis.set_clock(self.clock, self.furthest + 60).await;
        self.is_clock_set = true;
        self.set("fair.by", json!("caller"), |rules| rules.by = "caller").await;
        self.set("fair.flows", Json::Null, |rules| rules.named = None).await;
        self.set_each(Bounds { rate: None, burst: 1, tiers: &[], most: Some(3) }).await;
        let mut idle = 0;
        while !self.ledger.jobs.is_empty() {
            for replica in 0..self.replicas.len() {
                self.take(replica, 50).await;
            }
            idle = if self.held.is_empty() { idle + 1 } else { 0 };
            assert!(idle < 200, "{:?}", self.bucket.examine(false).await.expect("Redis answers"));
            self.settle(&[End::Deliver; 200]).await;
        }
        let census = self.bucket.census().await.expect("Redis answers");
        assert_eq!((census.level, census.waiting, census.in_flight), (0, 0, 0));
        let ended: u64 = census.ended.iter().map(|(_, count)| count).sum();
        assert_eq!(ended, self.ledger.added - self.ledger.deleted, "each that nobody deleted has ended, once");
        // Deleted jobs may still be counted.
        self.bucket.examine(true).await.expect("Redis answers");
        let left = self.bucket.examine(false).await.expect("Redis answers").findings;
        assert!(left.iter().all(|finding| finding.kind == FindingKind::Lost), "{left:?}");
    }
}

fn submission(offer: &Offer) -> Submission {
    Submission {
        caller: Some(CALLERS[offer.caller].to_owned()),
        group: offer.group.and_then(|group| group.parse().ok()),
        priority: match offer.priority {
            Some("high") => Some(Priority::High),
            Some("low") => Some(Priority::Low),
            _ => None,
        },
        start: if offer.delayed { StartTime::After(Duration::from_millis(5)) } else { StartTime::AtOnce },
        ..buckets::job("x".repeat(offer.bytes))
    }
}
