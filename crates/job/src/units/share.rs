//! Percentages in text form: `25%`, `12.5%`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// Shares are counted in ten-thousandths.
const WHOLE: u64 = 10_000;

/// Regular expression of a share.
pub const PATTERN: &str = concat!(
    r"^\s*(0{0,2}[1-9]|0?[1-9][0-9])(\.[0-9]{1,2})?\s*%\s*$",
    r"|^\s*0{1,3}\.(0[1-9]|[1-9][0-9]?)\s*%\s*$|^\s*100(\.0{1,2})?\s*%\s*$"
);

/// From 0.01 % to 100 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Share(u64);

#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not a percentage from 0.01% to 100%, such as 25% or 12.5%")]
pub struct BadShare(String);

impl Share {
    /// Returns the share of `whole`, rounded down.
    #[must_use]
    pub const fn of(self, whole: u64) -> u64 {
        // Computed in two parts, so that the products don't overflow.
        whole / WHOLE * self.0 + whole % WHOLE * self.0 / WHOLE
    }
}

impl FromStr for Share {
    type Err = BadShare;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || BadShare(text.chars().take(48).collect());
        let number = text.trim().strip_suffix('%').ok_or_else(bad)?.trim_end();
        let (percent, hundredths) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |part: &str, most| (1..=most).contains(&part.len()) && part.bytes().all(|c| c.is_ascii_digit());
        if !digits(percent, 3) || !digits(hundredths, 2) {
            return Err(bad());
        }
        let parsed = format!("{percent}{hundredths:0<2}").parse().map_err(|_| bad())?;
        if (1..=WHOLE).contains(&parsed) { Ok(Self(parsed)) } else { Err(bad()) }
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (percent, hundredths) = (self.0 / 100, self.0 % 100);
        match hundredths {
            0 => write!(f, "{percent}%"),
            _ if hundredths.is_multiple_of(10) => write!(f, "{percent}.{}%", hundredths / 10),
            _ => write!(f, "{percent}.{hundredths:02}%"),
        }
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In ten-thousandths.
    fn parts(text: &str) -> Option<u64> {
        text.parse().map(|share: Share| share.of(WHOLE)).ok()
    }

    #[test]
    fn shares_read_as_percents() {
        for (text, read) in [("25%", 2500), ("12.5%", 1250), ("0.01%", 1), ("100%", 10_000), (" 5 % ", 500)] {
            assert_eq!(parts(text), Some(read), "{text}");
        }
    }

    #[test]
    fn an_invalid_share_is_refused() {
        for text in ["", "%", "25", "0%", "0.001%", "100.01%", "-1%", "1.%", ".5%", "1e1%", "99999%", "a%"] {
            assert_eq!(parts(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_part_is_rounded_down() {
        let of = |text: &str, whole| text.parse::<Share>().map(|share| share.of(whole));
        assert_eq!((of("25%", 1000), of("25%", 7), of("0.01%", 9999)), (Ok(250), Ok(1), Ok(0)));
        assert_eq!((of("100%", u64::MAX), of("33.33%", 30_001)), (Ok(u64::MAX), Ok(9999)));
    }

    #[test]
    fn a_shown_share_reads_back() {
        for text in ["25%", "12.5%", "12.05%", "0.01%", "100%"] {
            assert_eq!(text.parse::<Share>().map(|share| share.to_string()).as_deref(), Ok(text));
        }
    }
}
