//! Takes, and the checks of the jobs that they return.

use std::collections::BTreeMap;
use std::time::Instant;

use dripfeed_bucket::*;

use super::history::History;
use super::ledger::{Flow, Place};

/// How often a take is repeated, because one may end early, or only sort jobs.
const TRIES: usize = 30;

impl History<'_> {
    /// If a flow surely waits and may be called, one of the next takes must return a job.
    pub(super) async fn take_and_look(&mut self, replica: usize, most: usize) {
        for _ in 0..TRIES {
            if self.take(replica, most).await > 0 || self.ledger.surely_wait(&self.rules).is_empty() {
                return;
            }
        }
        let found = self.bucket.examine(false).await;
        panic!("nothing is handed out, and {:?} wait: {found:?}", self.ledger.surely_wait(&self.rules));
    }

    pub(super) async fn take(&mut self, replica: usize, most: usize) -> usize {
        let waited = self.ledger.surely_wait(&self.rules);
        let asked = Instant::now();
        let taken = self.replicas[replica].take(most).await.expect("Redis answers");
        let window = [asked, Instant::now()];
        if self.is_clock_set && self.rules.is_bounded() {
            self.windows.step_clock();
            self.is_clock_set = false;
        }
        // With this take the replica has requeued the jobs that it had forgotten.
        for job in self.ledger.jobs.values_mut().filter(|job| job.place == Place::Forgotten(replica)) {
            job.place = Place::Soon;
        }
        let taken = match taken {
            Take::Jobs(taken, _) => taken,
            Take::Idle(_) => Vec::new(),
            Take::Fenced => panic!("nobody declared it dead"),
        };
        assert!(taken.len() <= most, "{} of {most}", taken.len());
        let handed_out = taken.len();
        self.see_deliveries(replica, &taken).await;
        let mut calls: BTreeMap<Flow, usize> = BTreeMap::new();
        for taken in taken {
            let id = taken.claim.id();
            let job = self.ledger.jobs.get_mut(&id).unwrap_or_else(|| panic!("{id} isn't there"));
            assert!(matches!(job.place, Place::Waiting | Place::Soon), "{id} is handed out twice at once: {job:?}");
            (job.place, job.calls) = (Place::InFlight, job.calls + 1);
            *calls.entry(job.flow.clone()).or_default() += 1;
            self.held.insert(id, (replica, taken));
        }
        self.judge(&calls, window);
        let waiting = waited.intersection(&self.ledger.surely_wait(&self.rules)).cloned().collect();
        self.order.take(&calls, &waiting, &self.rules);
        if !self.ledger.jobs.values().any(|job| job.place.is_unclaimed()) {
            self.order.see_empty();
        }
        handed_out
    }

    /// Checks that the jobs are pending for the replica, and that their first delivery counts as one.
    async fn see_deliveries(&self, replica: usize, taken: &[ClaimedJob]) {
        if taken.is_empty() {
            return;
        }
        let consumer = self.replicas[replica].consumer().as_str();
        let pending: Vec<(String, String, u64, u64)> =
            self.redis.ask(&format!("XPENDING {} processors - + 1000 {consumer}", self.key("jobs"))).await;
        let counts: BTreeMap<_, _> = pending.iter().map(|(id, _, _, count)| (id.as_str(), *count)).collect();
        for id in taken.iter().map(|taken| taken.claim.id()) {
            let count = counts.get(id.to_string().as_str());
            assert!(count.is_some(), "{id} isn't pending for {consumer}");
            if self.ledger.jobs.get(&id).is_some_and(|job| job.calls == 0) {
                assert_eq!(count, Some(&1), "the first delivery of {id}");
            }
        }
    }

    fn judge(&mut self, calls: &BTreeMap<Flow, usize>, window: [Instant; 2]) {
        let mut owners = BTreeMap::new();
        for (flow, calls) in calls {
            *owners.entry(flow.owner.clone()).or_default() += calls;
        }
        for (owner, calls) in owners {
            assert!(!self.rules.is_paused(&owner.name), "{owner:?} is paused and was called");
            let under_way = self.ledger.in_flight(&owner);
            let most = self.rules.bounds(&owner.name).and_then(|bounds| bounds.most);
            assert!(most.is_none_or(|most| under_way <= most), "{owner:?} has {under_way} calls under way of {most:?}");
            self.windows.call(&owner, calls, window, &self.rules);
        }
    }
}
