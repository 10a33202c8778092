//! Failure detection: a replica is dead when an observer has seen its heartbeat unchanged for the lease, by the
//! observer's monotonic clock. No wall clock is involved, so a clock step can't requeue live jobs or strand dead ones.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Heartbeats within a lease. A replica is dead after two thirds of the lease without a heartbeat: so a dead one is
/// found within the lease, and a living one may miss three heartbeats.
const BEATS_PER_LEASE: u32 = 6;

pub(crate) fn beat_interval(lease: Duration) -> Duration {
    lease / BEATS_PER_LEASE
}

/// What a replica has observed of the others.
pub(crate) struct HeartbeatWatch {
    lease: Duration,
    last_observation: Option<Instant>,
    pub(super) seen: HashMap<String, Observation>,
}

/// The last state of another consumer.
pub(super) struct Observation {
    /// Its number of heartbeats. `None` if it isn't a member.
    beats: Option<u64>,
    /// When this number was first seen.
    since: Instant,
    has_moved: bool,
}

impl HeartbeatWatch {
    pub(crate) fn new(lease: Duration) -> Self {
        Self { lease, last_observation: None, seen: HashMap::new() }
    }

    /// Observes the others at `now`, and returns those that are dead. After a long gap between two observations all of
    /// them start again: during the gap Redis or this process may have been suspended.
    pub(crate) fn observe(
        &mut self,
        now: Instant,
        consumers: HashMap<String, Option<u64>>,
    ) -> Vec<(String, Option<u64>)> {
        let silence = self.lease * 2 / 3;
        let gap = self.last_observation.replace(now).is_some_and(|last| now.duration_since(last) > silence * 3 / 4);
        if gap {
            self.seen.clear();
        }
        self.seen.retain(|consumer, _| consumers.contains_key(consumer));
        let mut dead = Vec::new();
        for (consumer, beats) in consumers {
            let seen = self.seen.entry(consumer.clone()).or_insert(Observation { beats, since: now, has_moved: false });
            if beats.is_none() {
                // The end of its membership isn't a sign of life: another replica's recovery may have been interrupted.
                seen.beats = None;
            } else if seen.beats != beats {
                *seen = Observation { beats, since: now, has_moved: true };
            }
            if now.duration_since(seen.since) >= silence {
                dead.push((consumer, beats));
            }
        }
        dead
    }

    /// Whether all others have sent a heartbeat within half of the lease.
    pub(crate) fn all_live(&self, now: Instant) -> bool {
        let lives = |seen: &Observation| seen.has_moved && now.duration_since(seen.since) < self.lease / 2;
        self.last_observation.is_some() && self.seen.values().all(lives)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEASE: Duration = Duration::from_secs(6);

    fn others(beats: Option<u64>) -> HashMap<String, Option<u64>> {
        HashMap::from([("a".to_owned(), beats)])
    }

    #[test]
    fn who_stands_still_for_two_thirds_of_the_lease_is_dead() {
        let (mut watch, start) = (HeartbeatWatch::new(LEASE), Instant::now());
        let mut observe = |second, beats| watch.observe(start + Duration::from_secs(second), others(beats));
        assert_eq!(observe(0, Some(7)), []);
        assert_eq!(observe(1, Some(8)), []);
        assert_eq!(observe(3, Some(8)), []);
        assert_eq!(observe(5, Some(8)), [("a".to_owned(), Some(8))]);
    }

    #[test]
    fn who_moves_or_left_is_not_dead() {
        let (mut watch, start) = (HeartbeatWatch::new(LEASE), Instant::now());
        for second in 0..20 {
            assert_eq!(watch.observe(start + Duration::from_secs(second), others(Some(second / 3))), []);
        }
        assert_eq!(watch.observe(start + Duration::from_secs(20), HashMap::new()), []);
    }

    #[test]
    fn all_live_when_each_was_seen_to_move_a_moment_ago() {
        let (mut watch, start) = (HeartbeatWatch::new(LEASE), Instant::now());
        let at = |second| start + Duration::from_secs(second);
        assert!(!watch.all_live(at(0)), "it has observed nothing");
        watch.observe(at(0), HashMap::new());
        assert!(watch.all_live(at(0)), "it is alone");
        watch.observe(at(1), others(Some(7)));
        assert!(!watch.all_live(at(1)), "it may be dead");
        watch.observe(at(2), others(Some(8)));
        assert!(watch.all_live(at(4)) && !watch.all_live(at(5)));
        watch.observe(at(3), HashMap::new());
        assert!(watch.all_live(at(5)), "it has left");
    }

    #[test]
    fn an_observer_that_stood_still_itself_begins_anew() {
        let (mut watch, start) = (HeartbeatWatch::new(LEASE), Instant::now());
        assert_eq!(watch.observe(start, others(Some(1))), []);
        assert_eq!(watch.observe(start + Duration::from_mins(1), others(Some(1))), []);
        assert_eq!(watch.observe(start + Duration::from_secs(62), others(Some(1))), []);
        assert_eq!(watch.observe(start + Duration::from_secs(64), others(Some(1))).len(), 1);
    }

    #[test]
    fn what_a_dead_replica_still_has_when_its_membership_ends_is_recovered_at_once() {
        let (mut watch, start) = (HeartbeatWatch::new(LEASE), Instant::now());
        let mut observe = |second, beats| watch.observe(start + Duration::from_secs(second), others(beats));
        assert_eq!(observe(0, Some(7)), []);
        assert_eq!(observe(2, Some(7)), []);
        assert_eq!(observe(4, Some(7)), [("a".to_owned(), Some(7))]);
        assert_eq!(observe(5, None), [("a".to_owned(), None)]);
    }

    #[test]
    fn a_consumer_without_membership_is_dead_after_the_same_time() {
        let (mut watch, start) = (HeartbeatWatch::new(LEASE), Instant::now());
        assert_eq!(watch.observe(start, others(None)), []);
        assert_eq!(watch.observe(start + Duration::from_secs(2), others(None)), []);
        assert_eq!(watch.observe(start + Duration::from_secs(4), others(None)), [("a".to_owned(), None)]);
    }
}
