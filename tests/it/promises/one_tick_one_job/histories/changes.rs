use dripfeed_bucket::*;
use dripfeed_job::Submission;
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_tests::buckets;

use super::{History, PERIOD, POLICIES, every, id, job};

impl History<'_> {
    /// Defines a schedule, at times as a client that has read it long ago.
    pub(super) async fn define(&mut self, name: &'static str) {
        let (now_ms, current) = self.schedule(name).await;
        let known = if self.rng.u8(..4) == 0 { self.seen.get(name) } else { current.as_ref() };
        let ago = self.rng.u64(..3) * PERIOD * 1000;
        let at = NextTick::At(every(PERIOD).next_after(now_ms - ago).expect("a tick"));
        let next = match &current {
            Some(KnownSchedule { next_ms: Some(_), .. }) if self.rng.bool() => NextTick::Unchanged,
            _ => at,
        };
        let (definition, paused) = (POLICIES[self.rng.usize(..POLICIES.len())].0, self.rng.u8(..6) == 0);
        let new = NewSchedule { id: &id(name), known, definition, job: &buckets::job("x"), paused, next };
        let defined = self.intakes[0].define_schedule(&new).await.expect("Redis answers");
        let version = |known: &KnownSchedule| known.state.version.clone();
        let is_current = known.map(version) == current.as_ref().map(version);
        assert_eq!(matches!(defined, DefineScheduleResult::Done(_)), is_current, "{defined:?}");
    }

    pub(super) async fn switch(&mut self, name: &str) {
        let (now_ms, current) = self.schedule(name).await;
        let known = if self.rng.u8(..4) == 0 { self.seen.get(name) } else { current.as_ref() };
        let (Some(known), paused) = (known, self.rng.bool()) else { return };
        let next = every(PERIOD).next_after(now_ms).filter(|_| !paused);
        let switched = self.intakes[0].switch_schedule(known, paused, next).await.expect("Redis answers");
        let is_current = current.as_ref().is_some_and(|current| current.state.version == known.state.version);
        assert_eq!(switched.is_some(), is_current, "{switched:?}");
    }

    /// Somebody submits the next tick of a schedule, or another job with its key.
    pub(super) async fn submit_by_hand(&mut self, name: &str) {
        let Some(tick) = self.schedule(name).await.1.and_then(|known| known.next_ms) else { return };
        let same = if self.rng.bool() { job(name, tick) } else { buckets::job("another") };
        let idempotency_key = IdempotencyKey::parse(&format!("schedule/{name}/{tick}")).ok();
        let answer = self.intakes[0].admit(Submission { idempotency_key, ..same }).await.expect("Redis answers");
        if let Admission::Admitted(admitted) = answer {
            self.ledger.has_job(name, tick, admitted.id);
        }
    }
}
