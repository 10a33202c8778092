//! The state of a bucket that the metrics show.

use dripfeed_bucket::Census;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BucketSample {
    pub(super) level: u64,
    pub(super) capacity: u64,
    pub(super) in_flight: u64,
    pub(super) parked: u64,
    pub(super) due_soon: u64,
    pub(super) oldest_age_s: f64,
    pub(super) dead: u64,
    pub(super) outbox: u64,
    pub(super) outbox_oversized: u64,
    pub(super) pace_target: Option<f64>,
    pub(super) pace_effective: Option<f64>,
    pub(super) pace_reason: &'static str,
    pub(super) dead_dropped: u64,
    pub(super) dead_replayed: u64,
    pub(super) outbox_handed_over: u64,
    pub(super) outbox_chains: u64,
}

impl From<Census> for BucketSample {
    fn from(census: Census) -> Self {
        Self {
            level: census.level,
            capacity: census.capacity,
            in_flight: census.in_flight,
            parked: census.parked,
            due_soon: census.due_soon,
            oldest_age_s: census.oldest_age.unwrap_or_default().as_secs_f64(),
            dead: census.dead,
            outbox: census.outbox,
            outbox_oversized: census.outbox_oversized,
            pace_target: census.pace.target.map(|target| target.per_second),
            pace_effective: census.pace.effective_per_s,
            pace_reason: census.pace.reason,
            dead_dropped: census.dead_dropped,
            dead_replayed: census.dead_replayed,
            outbox_handed_over: census.outbox_handed_over,
            outbox_chains: census.outbox_chains,
        }
    }
}

impl BucketSample {
    /// Whether the bucket has jobs to call, or outcome jobs for other buckets.
    pub(super) const fn is_busy(&self) -> bool {
        self.level > 0 || self.outbox > 0
    }

    /// Whether the effective rate is the configured one.
    pub(super) fn has_usual_pace(&self) -> bool {
        matches!(self.pace_reason, "target" | "no_rate")
    }

    /// Whether there is nothing to show while the bucket is idle.
    pub(super) fn is_empty(&self) -> bool {
        let stored = [self.level, self.dead, self.outbox];
        let counted = [self.dead_dropped, self.dead_replayed, self.outbox_handed_over, self.outbox_chains];
        self.has_usual_pace() && stored.iter().chain(&counted).all(|count| *count == 0)
    }
}
