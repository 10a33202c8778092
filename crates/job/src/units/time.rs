//! Times in text form, with their offset: `2030-01-01T12:00:00Z`.

use jiff::Timestamp;
use jiff::civil::DateTime;
use thiserror::Error;

#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not a time: use RFC 3339, such as 2030-01-01T12:00:00Z")]
pub struct BadTime(String);

/// Parses a time with its offset from UTC. The last hours of the year 9999, which are used for "never", become
/// `Timestamp::MAX`.
///
/// # Errors
/// For text in another form, and for a time that doesn't exist.
pub fn parse(text: &str) -> Result<Timestamp, BadTime> {
    let read = if has_offset(text) { text.parse().ok().or_else(|| beyond_the_last(text)) } else { None };
    read.ok_or_else(|| BadTime(text.chars().take(48).collect()))
}

/// Parses valid times that `Timestamp` doesn't support, because they are in the year 10000 in some time zones.
fn beyond_the_last(text: &str) -> Option<Timestamp> {
    const LAST_DAY: usize = "9999-12-31".len();
    let begins_as_a_time = text.strip_prefix("9999-12-3").is_some_and(|rest| rest.starts_with(['0', '1']));
    let at = text.get(LAST_DAY..).filter(|_| begins_as_a_time)?.find(['Z', 'z', '+', '-'])? + LAST_DAY;
    text.get(..at)?.parse::<DateTime>().ok().map(|_| Timestamp::MAX)
}

/// Whether the text ends with `Z` or an offset of hours and minutes. `Timestamp` also parses offsets of 25 hours or
/// with seconds, and names of time zones.
fn has_offset(text: &str) -> bool {
    if text.ends_with(['Z', 'z']) {
        return true;
    }
    let Some((_, offset)) = text.rsplit_once(['+', '-']) else { return false };
    let digits: String = offset.chars().filter(|c| *c != ':').collect();
    let is_below = |at, most: u8| digits.get(at..at + 2).is_some_and(|two| two.parse().is_ok_and(|two: u8| two < most));
    match offset.len() {
        2 => is_below(0, 24),
        4 | 5 => digits.len() == 4 && is_below(0, 24) && is_below(2, 60),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_hours_of_the_last_year_are_the_latest_time() {
        for text in ["9999-12-31T23:59:59Z", "9999-12-31 23:59:59.999z", "9999-12-30T23:00:00-02:00"] {
            assert_eq!(parse(text), Ok(Timestamp::MAX), "{text}");
        }
        assert!(parse("9999-12-30T21:00:00Z").is_ok_and(|at| at < Timestamp::MAX));
        for text in [
            "9999-12-31T24:00:01Z",
            "9999-12-32T00:00:00Z",
            "9999-12-31",
            "9999-12-31T23:59:59",
            "10000-01-01T00:00:00Z",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_has_an_offset_of_less_than_a_day() {
        for text in
            ["1970-01-01T01:00:00+01:00", "1970-01-01 00:00Z", "1970-01-01T01:00:00.0+0100", "1970-01-01t01:00:00+01"]
        {
            assert_eq!(parse(text), Ok(Timestamp::UNIX_EPOCH), "{text}");
        }
        assert!(parse("1970-01-01T00:00:00-23:59").is_ok());
        for text in ["", "1970-01-01", "1970-01-01T00:00:00", "1970-01-32T00:00:00Z", "1970-01-01T00:00:00Z[UTC]"] {
            assert!(parse(text).is_err(), "{text}");
        }
        for offset in ["+25:00", "-24:00", "+01:60", "+01:00:30", "+1:00", "+", "+0:100", "+01:00[UTC]"] {
            assert!(parse(&format!("1970-01-01T00:00:00{offset}")).is_err(), "{offset}");
        }
    }
}
