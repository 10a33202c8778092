//! Times in the API: RFC 3339 with milliseconds.

use dripfeed_job::time;
use jiff::Timestamp;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Formats milliseconds since the epoch.
pub(crate) fn show(ms: u64) -> String {
    let at = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or(Timestamp::MAX);
    format!("{at:.3}")
}

/// Returns milliseconds since the epoch, or why the text is invalid.
pub(crate) fn read(text: &str) -> Result<u64, String> {
    let at = time::parse(text).map_err(|_| why_not(text))?;
    // Nothing in Redis is older than the epoch.
    Ok(u64::try_from(at.as_millisecond()).unwrap_or(0))
}

/// In a query `+` stands for a space, so that an offset loses it.
fn why_not(text: &str) -> String {
    let lost_its_plus = text.rsplit_once(' ').is_some_and(|(at, zone)| time::parse(&format!("{at}+{zone}")).is_ok());
    let hint = if lost_its_plus { "; in a query write `+` as %2B" } else { "" };
    format!("not a time: use RFC 3339, such as 2030-01-01T12:00:00Z{hint}")
}

/// For `#[serde(deserialize_with)]`: an RFC 3339 time or null, as milliseconds since the epoch.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Option::<String>::deserialize(deserializer)?.map(|text| read(&text).map_err(D::Error::custom)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_milliseconds_and_read_back() {
        assert_eq!(show(1_700_000_000_000), "2023-11-14T22:13:20.000Z");
        assert_eq!(show(1_700_000_000_012), "2023-11-14T22:13:20.012Z");
        assert_eq!(read(&show(1_700_000_000_012)), Ok(1_700_000_000_012));
        assert_eq!(read("2023-11-14T23:13:20+01:00"), Ok(1_700_000_000_000));
        assert_eq!(read("1960-01-01T00:00:00Z"), Ok(0));
    }

    #[test]
    fn a_time_whose_plus_became_a_space_says_how_to_write_it() {
        for text in ["2023-11-14T23:13:20 01:00", "2023-11-14T23:13:20.5 0100"] {
            assert!(read(text).is_err_and(|why| why.contains("%2B")), "{text}");
        }
        assert!(read("2023-11-14 now").is_err_and(|why| !why.contains("%2B")));
    }

    #[test]
    fn an_invalid_time_is_refused() {
        for text in ["", "now", "2023-11-14", "1700000000", "2023-11-14T23:13:20+25:00", "2023-11-14T23:13:20+01:00:30"]
        {
            assert!(read(text).is_err(), "{text:?}");
        }
    }
}
