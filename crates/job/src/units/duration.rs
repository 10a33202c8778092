//! Durations in text form: `10s`, `500ms`, `1m 30s`, `2h`, `PT10S`. A unit is required.

use std::time::Duration;

use jiff::{SignedDuration, Span, SpanRelativeTo};
use thiserror::Error;

#[derive(Debug, Error, PartialEq, Eq)]
pub enum BadDuration {
    #[error("`{0}` is not a duration: write a number and a unit, such as 500ms, 10s, 5m or 2h")]
    Unreadable(String),
    #[error("`{0}` is negative: a duration must be zero or more")]
    Negative(String),
}

macro_rules! unit {
    () => {
        "(ms|msecs?|millis?|milliseconds?|[uµμ]s|[uµμ]secs?|micros?|microseconds?|ns|nsecs?|nanos?|nanoseconds?\
         |w|wks?|weeks?|d|days?|h|hrs?|hours?|m|mins?|minutes?|s|secs?|seconds?)"
    };
}

macro_rules! more_units {
    () => {
        concat!(
            "(,?\\s*[0-9]+([.,][0-9]+)?\\s*",
            crate::units::duration::unit!(),
            ")*(,?\\s*[0-9]+:[0-9]+:[0-9]+([.,][0-9]+)?)?"
        )
    };
}

macro_rules! units {
    () => {
        concat!(
            "([0-9]+([.,][0-9]+)?\\s*",
            crate::units::duration::unit!(),
            crate::units::duration::more_units!(),
            "|[0-9]+:[0-9]+:[0-9]+([.,][0-9]+)?|[Pp]([0-9]+[WwDd])*([Tt]([0-9]+([.,][0-9]+)?[HhMmSs])+)?)"
        )
    };
}

pub(crate) use {more_units, unit, units};

/// Regular expression of a duration. It matches every valid duration, and some that are too long.
pub const PATTERN: &str = concat!("^\\s*\\+?", units!(), "\\s*$");

/// Reads a duration with its unit.
///
/// # Errors
/// For a number without a unit, an unknown unit, or a time that is too long.
pub fn parse(text: &str) -> Result<Duration, BadDuration> {
    let shown = || text.chars().take(48).collect::<String>();
    // Also `-0s`, which is most likely a mistake.
    if text.trim_start().starts_with('-') || text.trim_end().ends_with("ago") {
        return Err(BadDuration::Negative(shown()));
    }
    let span: Span = text.trim().parse().map_err(|_| BadDuration::Unreadable(shown()))?;
    let signed = span.to_duration(SpanRelativeTo::days_are_24_hours()).map_err(|_| BadDuration::Unreadable(shown()))?;
    Duration::try_from(signed).map_err(|_| BadDuration::Negative(shown()))
}

/// Writes a duration in the shortest form that `parse` reads back: `1m 30s`, `500ms`.
#[must_use]
pub fn show(duration: Duration) -> String {
    SignedDuration::try_from(duration)
        .map_or_else(|_| format!("{}s", duration.as_secs()), |signed| format!("{signed:#}"))
}

/// Returns whole milliseconds, rounded up, so that waiting for them is long enough.
#[must_use]
pub fn ms_up(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// For `#[serde(with = "dripfeed_job::duration::text")]`.
pub mod text {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer};

    /// Serializes the duration as [`show`](super::show) does.
    ///
    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::show(*duration))
    }

    /// Deserializes the duration with [`parse`](super::parse).
    ///
    /// # Errors
    /// As [`parse`](super::parse).
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        super::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_carry_units() {
        assert_eq!(parse("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("1m 30s"), Ok(Duration::from_secs(90)));
        assert_eq!(parse("2h"), Ok(Duration::from_secs(7200)));
        assert_eq!(parse("250us"), Ok(Duration::from_micros(250)));
        assert_eq!(parse("30d"), Ok(Duration::from_hours(30 * 24)));
        assert_eq!(parse("0s"), Ok(Duration::ZERO));
    }

    #[test]
    fn what_has_no_unit_or_is_negative_is_refused() {
        for text in ["", "10", "NaN", "s", "ten s", "1e9s", "99999999999999999999s", "+s", "++1s"] {
            assert!(matches!(parse(text), Err(BadDuration::Unreadable(_))), "{text:?}");
        }
        assert!(matches!(parse("-10s"), Err(BadDuration::Negative(_))));
    }

    #[test]
    fn a_shown_duration_reads_back() {
        for ms in [0, 1, 500, 1000, 90_000, 86_400_000] {
            let duration = Duration::from_millis(ms);
            assert_eq!(parse(&show(duration)), Ok(duration));
        }
    }

    #[test]
    fn milliseconds_round_up() {
        assert_eq!(ms_up(Duration::from_micros(1)), 1);
        assert_eq!(ms_up(Duration::from_micros(1000)), 1);
        assert_eq!(ms_up(Duration::from_micros(1001)), 2);
    }
}
