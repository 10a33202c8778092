//! Detects live intakes: those whose number of heartbeats grows, by the observer's monotonic clock.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// An intake without a heartbeat for this long is gone. They come every 400 ms.
const SILENCE: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub(super) struct Intakes {
    own: String,
    seen: HashMap<String, SeenIntake>,
    /// When this intake last read the heartbeats.
    last_read: Option<Instant>,
}

/// An intake's number of heartbeats, and since when it is unchanged.
#[derive(Clone, Copy, Debug)]
struct SeenIntake {
    beats: u64,
    since: Instant,
    is_gone: bool,
}

impl Intakes {
    pub(super) fn seen_by(own: &str) -> Self {
        Self { own: own.to_owned(), seen: HashMap::new(), last_read: None }
    }

    /// Returns the number of live intakes, including this one.
    pub(super) fn observe(&mut self, beats: HashMap<String, u64>, now: Instant) -> u64 {
        // If this process was suspended, or its own heartbeat failed, it can't judge the others, so all count as alive.
        let stood_still = self.last_read.is_none_or(|last_read| now.duration_since(last_read) >= SILENCE)
            || beats.get(&self.own).copied() == self.seen.get(&self.own).map(|own| own.beats);
        let before = std::mem::take(&mut self.seen);
        let seen = |(intake, beats): (String, u64)| {
            let since = match before.get(&intake) {
                Some(seen) if seen.beats == beats && !stood_still => seen.since,
                _ => now,
            };
            let is_gone = intake != self.own && now.duration_since(since) >= SILENCE;
            (intake, SeenIntake { beats, since, is_gone })
        };
        self.seen = beats.into_iter().map(seen).collect();
        self.last_read = Some(now);
        let alive = self.seen.values().filter(|seen| !seen.is_gone).count();
        u64::try_from(alive).unwrap_or(u64::MAX).max(1)
    }

    /// The intakes that are gone, with their last numbers of heartbeats.
    pub(super) fn gone(&self) -> impl Iterator<Item = (&str, u64)> {
        self.seen.iter().filter(|(_, seen)| seen.is_gone).map(|(intake, seen)| (intake.as_str(), seen.beats))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEAT: Duration = Duration::from_millis(400);

    fn beats<const N: usize>(beats: [(&str, u64); N]) -> HashMap<String, u64> {
        beats.into_iter().map(|(intake, beats)| (intake.to_owned(), beats)).collect()
    }

    #[test]
    fn who_beats_is_alive_and_who_is_silent_has_gone() {
        let (start, mut intakes) = (Instant::now(), Intakes::seen_by("a"));
        for n in 1_u32..=7 {
            let seen = beats([("a", n.into()), ("b", n.into()), ("c", 5)]);
            assert_eq!(intakes.observe(seen, start + BEAT * n), 3, "{n}");
        }
        let seen = beats([("a", 9), ("b", 9), ("c", 5)]);
        assert_eq!(intakes.observe(seen, start + BEAT * 9), 2);
        assert_eq!(intakes.gone().collect::<Vec<_>>(), [("c", 5)]);
        assert_eq!(intakes.observe(beats([("a", 10), ("b", 10), ("c", 6)]), start + BEAT * 10), 3, "it was slow");
    }

    #[test]
    fn who_stood_still_does_not_judge() {
        let (start, mut intakes) = (Instant::now(), Intakes::seen_by("a"));
        intakes.observe(beats([("a", 1), ("b", 1)]), start);
        assert_eq!(intakes.observe(beats([("a", 2), ("b", 1)]), start + SILENCE), 2);
        // Nor does who could not beat itself.
        let mut now = start + SILENCE;
        for _ in 0..20 {
            now += BEAT;
            assert_eq!(intakes.observe(beats([("a", 2), ("b", 1)]), now), 2);
        }
    }
}
