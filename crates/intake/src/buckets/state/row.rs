//! A bucket as a row of an event frame: numbers only, so that a frame of a thousand buckets is small.

use serde::{Serialize, Serializer};

use super::BucketState;

/// The names of the members of a row, in their order.
pub(crate) const COLUMNS: [&str; 16] = [
    "name",
    "level",
    "capacity",
    "waiting",
    "in_flight",
    "parked",
    "dead",
    "oldest_age_ms",
    "accepted_per_s",
    "refused_per_s",
    "settled_per_s",
    "effective_per_s",
    "reason",
    "held_for_ms",
    "paused",
    "replicas",
];

/// The numbers of a bucket, as an array.
pub(crate) struct Row<'r>(pub(crate) &'r BucketState);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(of) = self;
        let columns = (
            &of.name,
            of.level,
            of.capacity,
            of.waiting,
            of.in_flight,
            of.parked,
            of.dead,
            of.oldest_age_ms,
            rounded(of.accepted_per_s),
            rounded(of.refused_per_s),
            rounded(of.settled_per_s),
            of.pace.effective_per_s.map(rounded),
            of.pace.reason,
            of.pace.held_for_ms,
            of.paused,
            of.replicas.len(),
        );
        columns.serialize(serializer)
    }
}

/// More digits say nothing of a measured rate.
pub(super) fn rounded(per_s: f64) -> f64 {
    (per_s * 100.0).round() / 100.0
}
