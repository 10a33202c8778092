//! Death is observed: a replica whose heartbeat stood still for long enough, by the observer's own clock, is dead. No
//! wall clock is asked, so no clock step steals live jobs or strands dead ones.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Heartbeats within a lease. With silence for two thirds of it meaning death, a dead replica is found within the
/// lease, and a living one may miss three beats.
const BEATS: u32 = 6;

pub(crate) fn beat_interval(lease: Duration) -> Duration {
    lease / BEATS
}

/// What one replica has seen of the others.
pub(crate) struct HeartbeatWatch {
    lease: Duration,
    last_look: Option<Instant>,
    /// Consumer → its heartbeats (None: it is no member) and since when they stood so.
    pub(super) seen: HashMap<String, (Option<u64>, Instant)>,
}

impl HeartbeatWatch {
    pub(crate) fn new(lease: Duration) -> Self {
        Self { lease, last_look: None, seen: HashMap::new() }
    }

    /// Takes a look at `now`; shows which have stood still for long enough. After a gap in its own looks it has no
    /// ground to judge: that was Redis or this process standing still.
    pub(crate) fn look(&mut self, now: Instant, consumers: HashMap<String, Option<u64>>) -> Vec<(String, Option<u64>)> {
        let silence = self.lease * 2 / 3;
        let gap = self.last_look.replace(now).is_some_and(|last| now.duration_since(last) > silence * 3 / 4);
        if gap {
            self.seen.clear();
        }
        self.seen.retain(|consumer, _| consumers.contains_key(consumer));
        let mut still = Vec::new();
        for (consumer, beats) in consumers {
            let seen = self.seen.entry(consumer.clone()).or_insert((beats, now));
            if seen.0 != beats {
                *seen = (beats, now);
            }
            if now.duration_since(seen.1) >= silence {
                still.push((consumer, beats));
            }
        }
        still
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
        let mut look = |second, beats| watch.look(start + Duration::from_secs(second), others(beats));
        assert_eq!(look(0, Some(7)), []);
        assert_eq!(look(1, Some(8)), []);
        assert_eq!(look(3, Some(8)), []);
        assert_eq!(look(5, Some(8)), [("a".to_owned(), Some(8))]);
    }

    #[test]
    fn who_moves_or_left_is_not_dead() {
        let (mut watch, start) = (HeartbeatWatch::new(LEASE), Instant::now());
        for second in 0..20 {
            assert_eq!(watch.look(start + Duration::from_secs(second), others(Some(second / 3))), []);
        }
        assert_eq!(watch.look(start + Duration::from_secs(20), HashMap::new()), []);
    }

    #[test]
    fn an_observer_that_stood_still_itself_begins_anew() {
        let (mut watch, start) = (HeartbeatWatch::new(LEASE), Instant::now());
        assert_eq!(watch.look(start, others(Some(1))), []);
        assert_eq!(watch.look(start + Duration::from_mins(1), others(Some(1))), []);
        assert_eq!(watch.look(start + Duration::from_secs(62), others(Some(1))), []);
        assert_eq!(watch.look(start + Duration::from_secs(64), others(Some(1))).len(), 1);
    }

    #[test]
    fn a_consumer_without_membership_is_dead_after_the_same_time() {
        let (mut watch, start) = (HeartbeatWatch::new(LEASE), Instant::now());
        assert_eq!(watch.look(start, others(None)), []);
        assert_eq!(watch.look(start + Duration::from_secs(2), others(None)), []);
        assert_eq!(watch.look(start + Duration::from_secs(4), others(None)), [("a".to_owned(), None)]);
    }
}
