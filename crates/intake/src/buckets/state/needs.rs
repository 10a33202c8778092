//! What needs an operator in a bucket: the only definition. The dashboard and `dripfeed top` have words for each.

use dripfeed_bucket::Census;
use dripfeed_job::duration::ms_up;

/// A throttle that is longer than this is worth a look.
const LONG_THROTTLE_MS: u64 = 5 * 60_000;
const NEARLY_FULL_PERCENT: u64 = 90;
/// A lower rate is shown as 0.
const LEAST_REFUSED_PER_S: f64 = 0.005;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Needs {
    /// Its jobs or outcome jobs stand still, or are refused.
    pub(super) problems: Vec<&'static str>,
    /// They may be soon.
    pub(super) warnings: Vec<&'static str>,
}

impl Needs {
    pub(super) fn of(bucket: &Census) -> Self {
        let is_nearly_full = bucket.level.saturating_mul(100) >= bucket.capacity.saturating_mul(NEARLY_FULL_PERCENT);
        let refuses = is_nearly_full && bucket.refused_per_s >= LEAST_REFUSED_PER_S;
        let throttled_for = bucket.pace.throttled_for.map_or(0, ms_up);
        Self {
            problems: named(&[
                ("dead_full", bucket.pace.reason == "dead_full"),
                ("outbox_full", bucket.pace.reason == "outbox_full"),
                ("outbox_oversized", bucket.outbox_oversized > 0),
                ("no_processor", bucket.replicas.is_empty() && bucket.level > 0),
                ("refusing", refuses),
            ]),
            warnings: named(&[
                ("paused", bucket.paused && bucket.level > 0),
                ("throttled", throttled_for > LONG_THROTTLE_MS),
                ("nearly_full", is_nearly_full && !refuses),
                ("dead_letters", bucket.dead > 0),
            ]),
        }
    }
}

fn named(all: &[(&'static str, bool)]) -> Vec<&'static str> {
    all.iter().filter(|(_, is_so)| *is_so).map(|(name, _)| *name).collect()
}
