//! A bucket as a row of an event frame: an array without member names, so that a frame of a thousand buckets is small.

use serde::ser::SerializeTuple as _;
use serde::{Serialize, Serializer};

use super::BucketState;
use super::needs::Indices;

/// The names of the members of a row, in their order.
pub(crate) const COLUMNS: [&str; 20] = [
    "name",
    "level",
    "capacity",
    "waiting",
    "in_flight",
    "parked",
    "dead",
    "recent_dead",
    "oldest_age_ms",
    "accepted_per_s",
    "refused_per_s",
    "settled_per_s",
    "effective_per_s",
    "reason",
    "held_for_ms",
    "outbox_oversized",
    "paused",
    "replicas",
    "problems",
    "warnings",
];

/// Serializes a bucket as an array.
pub(crate) struct Row<'r>(pub(crate) &'r BucketState);

impl Serialize for Row<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(of) = self;
        let mut row = serializer.serialize_tuple(COLUMNS.len())?;
        row.serialize_element(&of.name)?;
        row.serialize_element(&of.level)?;
        row.serialize_element(&of.capacity)?;
        row.serialize_element(&of.waiting)?;
        row.serialize_element(&of.in_flight)?;
        row.serialize_element(&of.parked)?;
        row.serialize_element(&of.dead)?;
        row.serialize_element(&of.recent_dead)?;
        row.serialize_element(&of.oldest_age_ms)?;
        row.serialize_element(&rounded(of.accepted_per_s))?;
        row.serialize_element(&rounded(of.refused_per_s))?;
        row.serialize_element(&rounded(of.settled_per_s))?;
        row.serialize_element(&of.pace.effective_per_s.map(rounded))?;
        row.serialize_element(&of.pace.reason)?;
        row.serialize_element(&of.pace.held_for_ms)?;
        row.serialize_element(&of.outbox_oversized)?;
        row.serialize_element(&of.paused)?;
        row.serialize_element(&of.alive())?;
        row.serialize_element(&Indices(&of.problems))?;
        row.serialize_element(&Indices(&of.warnings))?;
        row.end()
    }
}

/// Further digits of a measured rate aren't significant.
fn rounded(per_s: f64) -> f64 {
    (per_s * 100.0).round() / 100.0
}
