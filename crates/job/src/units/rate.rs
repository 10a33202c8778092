//! Rates in text form, calls per time: `200/500ms`, `10/s`, `10000/day`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

use crate::units::duration;

/// Lua's numbers are doubles, which represent integers exactly up to here. All products in scripts must be below it.
pub const MAX_EXACT_INTEGER: u64 = 1 << 53;

/// A leap year. A longer period is most likely a mistake.
const MAX_PERIOD_US: u64 = 366 * 24 * 3600 * 1_000_000;

/// Regular expression of a rate. It matches every valid rate, and some that are out of range.
pub const PATTERN: &str = concat!(
    "^\\s*\\+?0*[1-9][0-9]*\\s*/\\s*(\\+?",
    duration::units!(),
    "|",
    duration::unit!(),
    duration::more_units!(),
    ")\\s*$"
);

/// `limit` calls in each period of `period_us` microseconds; both at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rate {
    limit: u64,
    period_us: u64,
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum BadRate {
    #[error("`{0}` is not a rate: write calls per time, such as 10/s, 200/500ms or 10000/day")]
    Unreadable(String),
    #[error("`{0}` allows no calls: the number of calls and the time must be above zero (to stop a bucket, pause it)")]
    Zero(String),
    #[error("`{0}` is out of range: at most one call a microsecond, and periods of at most 366 days")]
    OutOfRange(String),
    #[error("`{0}` is too fine: use periods of whole microseconds")]
    Fine(String),
}

impl Rate {
    /// Creates a rate of `limit` calls per `period`.
    ///
    /// # Errors
    /// When one of them is zero, or both are too large to be counted exactly.
    pub fn new(limit: u64, period: Duration) -> Result<Self, BadRate> {
        Self::checked(limit, period, || format!("{limit}/{}", duration::show(period)))
    }

    /// `shown`: the rate in error messages.
    fn checked(limit: u64, period: Duration, shown: impl Fn() -> String) -> Result<Self, BadRate> {
        if !period.subsec_nanos().is_multiple_of(1_000) {
            return Err(BadRate::Fine(shown()));
        }
        let period_us = u64::try_from(period.as_micros()).map_err(|_| BadRate::OutOfRange(shown()))?;
        if limit == 0 || period_us == 0 {
            return Err(BadRate::Zero(shown()));
        }
        // The largest product in scripts is that of a period and the limit.
        let exact = period_us.checked_mul(limit).is_some_and(|product| product < MAX_EXACT_INTEGER);
        if period_us > MAX_PERIOD_US || limit > period_us || !exact {
            return Err(BadRate::OutOfRange(shown()));
        }
        Ok(Self { limit, period_us })
    }

    #[must_use]
    pub const fn limit(self) -> u64 {
        self.limit
    }

    #[must_use]
    pub const fn period_us(self) -> u64 {
        self.period_us
    }

    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "both are below 2^53, where doubles are exact")]
    pub fn per_second(self) -> f64 {
        self.limit as f64 * 1e6 / self.period_us as f64
    }
}

impl FromStr for Rate {
    type Err = BadRate;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let shown = || text.chars().take(48).collect::<String>();
        let unreadable = || BadRate::Unreadable(shown());
        let (limit, period) = text.split_once('/').ok_or_else(unreadable)?;
        let limit = limit.trim().parse().map_err(|_| unreadable())?;
        let period = period.trim();
        // `10/s` is `10/1s`.
        let bare_unit = period.starts_with(|c: char| c.is_ascii_alphabetic());
        let period = if bare_unit { duration::parse(&format!("1{period}")) } else { duration::parse(period) };
        Self::checked(limit, period.map_err(|_| unreadable())?, shown)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let period = duration::show(Duration::from_micros(self.period_us));
        let unit = period.strip_prefix('1').filter(|unit| unit.bytes().all(|c| c.is_ascii_alphabetic()));
        write!(f, "{}/{}", self.limit, unit.unwrap_or(&period))
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> Result<(u64, u64), BadRate> {
        text.parse::<Rate>().map(|rate| (rate.limit(), rate.period_us()))
    }

    #[test]
    fn rates_read_as_calls_per_time() {
        assert_eq!(rate("200/500ms"), Ok((200, 500_000)));
        assert_eq!(rate("10/s"), Ok((10, 1_000_000)));
        assert_eq!(rate("10000/day"), Ok((10_000, 86_400_000_000)));
        assert_eq!(rate("1 / 2m"), Ok((1, 120_000_000)));
    }

    #[test]
    fn an_invalid_rate_is_refused_with_the_reason() {
        for text in ["", "10", "/s", "10/", "ten/s", "-1/s", "1.5/s", "10/5"] {
            assert!(matches!(rate(text), Err(BadRate::Unreadable(_))), "{text:?}");
        }
        assert!(matches!(rate("0/s"), Err(BadRate::Zero(_))));
        assert!(matches!(rate("10/0s"), Err(BadRate::Zero(_))));
        assert!(matches!(rate("2000000/s"), Err(BadRate::OutOfRange(_))));
        assert_eq!(rate("1/400d"), Err(BadRate::OutOfRange("1/400d".to_owned())));
    }

    #[test]
    fn a_shown_rate_reads_back() {
        for text in ["200/500ms", "10/s", "1/m", "7/3s"] {
            let first: Rate = text.parse().unwrap_or_else(|error| unreachable!("{error}"));
            assert_eq!(first.to_string().parse(), Ok(first));
        }
        assert_eq!("10/1s".parse::<Rate>().map(|rate| rate.to_string()).as_deref(), Ok("10/s"));
    }
}
