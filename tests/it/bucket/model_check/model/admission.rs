use std::collections::BTreeMap;

use dripfeed_bucket::RefusalReason;
use dripfeed_job::Ending;

use super::super::step::{Entry, Offer, StepResult, Verdict};
use super::{Job, Model, Place};

impl Model {
    pub(super) fn append(&mut self, bytes: u64, caller: Option<char>, readable: bool) -> &mut Job {
        let number = self.numbered;
        self.numbered += 1;
        self.jobs.entry(number).or_insert(Job {
            bytes,
            caller,
            readable,
            delayed: None,
            ephemeral: false,
            place: Place::Waiting,
            failures: 0,
            deliveries: 0,
        })
    }

    fn refuse(&mut self, reason: RefusalReason) -> Verdict {
        let place = RefusalReason::ALL.iter().position(|known| *known == reason).expect("one of all");
        self.refused[place] += 1;
        Verdict::Refused { reason, level: self.level() }
    }

    pub(super) fn admit(&mut self, offer: &Offer) -> Verdict {
        let key = offer.key.map(|key| (offer.caller, key));
        if let Some((job, letter, length)) = key.and_then(|key| self.once.get(&key)).copied() {
            if (letter, length) != (offer.letter, offer.length) {
                return self.refuse(RefusalReason::IdempotencyConflict);
            }
            return Verdict::Repeated { job, level: self.level() };
        }
        // The body, the caller, the checksum, and the mark of our own layout.
        let bytes = offer.length as u64 + u64::from(offer.caller.is_some()) + 16 + 1;
        if bytes > self.capacity_bytes {
            return self.refuse(RefusalReason::NeverFits);
        }
        if self.has_its_share(offer.caller, bytes) {
            return self.refuse(RefusalReason::ShareUsedUp);
        }
        if !self.has_room_for(bytes) {
            return self.refuse(RefusalReason::BucketFull);
        }
        if offer.ephemeral && (offer.delayed || self.hold > 0 || self.tokens_expected() == Some(0)) {
            return self.refuse(RefusalReason::DeadlineUnreachable);
        }
        let (job, now) = (self.numbered, self.now);
        let added = self.append(bytes, offer.caller, true);
        added.delayed = offer.delayed.then_some(now);
        added.ephemeral = offer.ephemeral;
        self.accepted += 1;
        if let Some(key) = key {
            self.once.insert(key, (job, offer.letter, offer.length));
        }
        Verdict::Admitted { job, level: self.level() }
    }

    /// A missing state of the pace isn't lost before any job was called.
    fn tokens_expected(&self) -> Option<u64> {
        let was_called = self.outcomes.values().any(|(ending, _)| matches!(ending, Ending::Delivered | Ending::Dead));
        if self.spent.is_none() && !was_called { self.burst } else { self.tokens() }
    }

    pub(super) fn has_room_for(&self, bytes: u64) -> bool {
        self.level() < self.capacity && self.bytes() + bytes <= self.capacity_bytes
    }

    /// Jobs and bytes of each caller, without jobs that have no caller.
    pub(super) fn callers(&self) -> BTreeMap<char, (u64, u64)> {
        let mut callers = BTreeMap::<_, (u64, u64)>::new();
        for (caller, bytes) in self.jobs.values().filter_map(|job| job.caller.zip(Some(job.bytes))) {
            let held = callers.entry(caller).or_default();
            *held = (held.0 + 1, held.1 + bytes);
        }
        callers
    }

    pub(super) fn has_its_share(&self, caller: Option<char>, more: u64) -> bool {
        let Some((caller, share)) = caller.zip(self.max_share) else { return false };
        let most = |of: u64| (of * share / 100).max(1);
        let held = self.callers().get(&caller).copied();
        held.is_some_and(|(jobs, bytes)| jobs >= most(self.capacity) || bytes + more > most(self.capacity_bytes))
    }

    pub(super) fn add_by_hand(&mut self, entry: Entry) -> StepResult {
        self.append(0, None, entry != Entry::Unreadable);
        StepResult::Done
    }
}
