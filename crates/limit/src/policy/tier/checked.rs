//! Validated construction of tiers, whose numbers must be exact in Lua.

use std::time::Duration;

use dripfeed_job::duration;
use dripfeed_job::rate::MAX_EXACT_INTEGER;
use thiserror::Error;

use super::{Align, Tier, TierKind};
use crate::policy::calendar::Calendar;

/// Counters have five bytes.
const MOST_LIMIT: u64 = 1_000_000_000_000;
/// A log stores nine bytes for each call, in each scope.
pub(super) const MOST_LOG: u64 = 1_000;
/// A lease has sixteen bytes.
pub(super) const MOST_CONCURRENT: u64 = 1_000;
const LONGEST_PERIOD_US: u64 = 366 * 24 * 3600 * 1_000_000;

/// Why a tier is invalid.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BadTier {
    #[error("a limit of 0 allows nothing: use at least 1")]
    ZeroLimit,
    #[error("a limit of {0} is out of range: use at most {MOST_LIMIT}")]
    LargeLimit(u64),
    #[error("a period of zero: use at least 1us")]
    ZeroPeriod,
    #[error("a period of {} is too long: use at most 366 days", duration::show(*.0))]
    LongPeriod(Duration),
    #[error("a burst of 0 allows no calls: use at least 1")]
    ZeroBurst,
    #[error(
    "{limit} per {} with {what} can't be counted exactly (a product exceeds 2^53): use smaller numbers",
    duration::show(*.period)
)]
    Inexact { limit: u64, period: Duration, what: String },
    #[error("a log of {0} calls takes too much memory: use at most {MOST_LOG}, or the kind `sliding`")]
    LargeLog(u64),
    #[error("{0} leases take too much memory: use at most {MOST_CONCURRENT}")]
    ManyLeases(u64),
    #[error("a min_gap of {} is longer than the period of {}", duration::show(*.gap), duration::show(*.period))]
    LongGap { gap: Duration, period: Duration },
}

impl Tier {
    /// Creates a bucket: leaky bucket, token bucket and GCRA are the same rule.
    ///
    /// # Errors
    /// When it can't be counted exactly, or the limit, period or burst is zero.
    pub fn bucket(limit: u64, period: Duration, burst: u64) -> Result<Self, BadTier> {
        let tier = Self::new(limit, period, TierKind::Bucket { burst })?;
        if burst == 0 {
            return Err(BadTier::ZeroBurst);
        }
        let (_, unit) = tier.drain();
        tier.exact(burst, unit, MAX_EXACT_INTEGER / 4, || format!("a burst of {burst}"))
    }

    /// Creates a gate: one call per period.
    ///
    /// # Errors
    /// When the period is zero or too long.
    pub fn gate(period: Duration) -> Result<Self, BadTier> {
        Self::new(1, period, TierKind::Gate)
    }

    /// Creates a fixed window of `limit` calls.
    ///
    /// # Errors
    /// When the limit or the period is zero or too large.
    pub fn fixed(limit: u64, period: Duration, align: Align) -> Result<Self, BadTier> {
        Self::new(limit, period, TierKind::Fixed(align))
    }

    /// Creates a window of a calendar, with `limit` calls.
    ///
    /// # Errors
    /// When the limit is zero or too large.
    pub fn calendar(limit: u64, calendar: Calendar) -> Result<Self, BadTier> {
        Self::new(limit, calendar.unit().length(), TierKind::Fixed(Align::Calendar(calendar)))
    }

    /// Creates a sliding window of `limit` calls, estimated by the weighted count of the previous window.
    ///
    /// # Errors
    /// When it can't be counted exactly, or the limit or the period is zero.
    pub fn sliding(limit: u64, period: Duration) -> Result<Self, BadTier> {
        let tier = Self::new(limit, period, TierKind::Sliding)?;
        let period_us = tier.period_us;
        tier.exact(limit, period_us, MAX_EXACT_INTEGER / 8, || "a sliding window".to_owned())
    }

    /// Creates a sliding log: `limit` calls in any period, exact.
    ///
    /// # Errors
    /// When the limit or the period is zero or too large, or the gap is longer than the period.
    pub fn log(limit: u64, period: Duration, min_gap: Duration, count_denied: bool) -> Result<Self, BadTier> {
        if limit > MOST_LOG {
            return Err(BadTier::LargeLog(limit));
        }
        if min_gap > period {
            return Err(BadTier::LongGap { gap: min_gap, period });
        }
        Self::new(limit, period, TierKind::Log { min_gap_us: micros(min_gap), count_denied })
    }

    /// Creates a concurrency limit: at most `limit` leases at once, each for at most `lease`.
    ///
    /// # Errors
    /// When the limit or the lease is zero or too large.
    pub fn concurrent(limit: u64, lease: Duration) -> Result<Self, BadTier> {
        if limit > MOST_CONCURRENT {
            return Err(BadTier::ManyLeases(limit));
        }
        Self::new(limit, lease, TierKind::Concurrent)
    }

    /// Creates a limit of the jobs that wait in the bucket.
    ///
    /// # Errors
    /// When the limit is zero or too large.
    pub fn backlog(limit: u64) -> Result<Self, BadTier> {
        Self::new(limit, Duration::from_micros(1), TierKind::Backlog)
    }

    fn new(limit: u64, period: Duration, kind: TierKind) -> Result<Self, BadTier> {
        let period_us = micros(period);
        if limit == 0 {
            return Err(BadTier::ZeroLimit);
        }
        if limit > MOST_LIMIT {
            return Err(BadTier::LargeLimit(limit));
        }
        if period_us == 0 {
            return Err(BadTier::ZeroPeriod);
        }
        if period_us > LONGEST_PERIOD_US {
            return Err(BadTier::LongPeriod(period));
        }
        Ok(Self { limit, period_us, kind })
    }

    fn exact(self, count: u64, unit: u64, below: u64, what: impl Fn() -> String) -> Result<Self, BadTier> {
        match count.checked_mul(unit) {
            Some(product) if product <= below => Ok(self),
            _ => Err(BadTier::Inexact { limit: self.limit, period: self.period(), what: what() }),
        }
    }
}

/// Whole µs. More than a u64 becomes the maximum, which is refused as too long.
fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}
