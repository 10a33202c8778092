//! Which callers have asked lately.

use std::time::Duration;

use tokio::time::Instant;

use crate::shares::Waiter;

/// A caller that asked within this time is active.
const RECENT: Duration = Duration::from_secs(1);

/// The two callers that asked last, the latest one first: for any caller, the latest other one is among them.
#[derive(Default)]
pub(super) struct RecentCallers([Option<(Waiter, Instant)>; 2]);

impl RecentCallers {
    pub(super) fn saw(&mut self, caller: &Waiter) {
        let [latest, before] = &mut self.0;
        if latest.as_ref().is_none_or(|(of, _)| of != caller) {
            std::mem::swap(latest, before);
        }
        match latest {
            Some((of, at)) if of == caller => *at = Instant::now(),
            // A third one takes the place of the one before the last.
            _ => *latest = Some((caller.clone(), Instant::now())),
        }
    }

    /// Whether somebody else has asked lately.
    pub(super) fn has_others_than(&self, caller: &Waiter) -> bool {
        self.0.iter().flatten().any(|(of, at)| of != caller && at.elapsed() < RECENT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_caller_is_seen_beside_any() {
        let [one, two, three] = ["one", "two", "three"].map(|caller| Waiter::new(Some(caller), None));
        let mut recent = RecentCallers::default();
        assert!(!recent.has_others_than(&one));
        for _ in 0..3 {
            recent.saw(&one);
        }
        assert!(!recent.has_others_than(&one) && recent.has_others_than(&two));
        recent.saw(&two);
        recent.saw(&two);
        assert!(recent.has_others_than(&one) && recent.has_others_than(&two) && recent.has_others_than(&three));
        recent.saw(&three);
        recent.saw(&two);
        for caller in [&one, &two, &three] {
            assert!(recent.has_others_than(caller));
        }
    }
}
