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
        row.serialize_element(&Rate(measured(of.accepted_per_s)))?;
        row.serialize_element(&Rate(measured(of.refused_per_s)))?;
        row.serialize_element(&Rate(measured(of.settled_per_s)))?;
        row.serialize_element(&of.pace.effective_per_s.map(significant).map(Rate))?;
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

/// A rate. A whole number has no decimals, because a frame has thousands.
struct Rate(f64);

impl Serialize for Rate {
    #[expect(clippy::cast_possible_truncation, reason = "a rate is far below 2^63; any other would be cut to that")]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(per_s) = *self;
        if per_s.fract() > 0.0 { serializer.serialize_f64(per_s) } else { serializer.serialize_i64(per_s as i64) }
    }
}

/// Further digits of a measured rate aren't significant.
fn measured(per_s: f64) -> f64 {
    if per_s < 100.0 { (per_s * 100.0).round() / 100.0 } else { per_s.round() }
}

/// Three digits, or the whole number if it has more: a bucket may leak a few times a day.
fn significant(per_s: f64) -> f64 {
    if per_s <= 0.0 {
        return 0.0;
    }
    let scale = 10_f64.powf((2.0 - per_s.log10().floor()).max(0.0));
    (per_s * scale).round() / scale
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn a_rate_has_its_significant_digits() {
        let rates = [0.0, 10.0 / 86_400.0, 0.1 + 0.2, 9.0, 12.567, 99.999, 123.45, 30_000.6];
        let of = |digits: fn(f64) -> f64| serde_json::to_string(&rates.map(digits).map(Rate)).unwrap();
        assert_eq!(of(measured), "[0,0,0.3,9,12.57,100,123,30001]");
        assert_eq!(of(significant), "[0,0.000116,0.3,9,12.6,100,123,30001]");
    }
}
