//! One window of a policy: its kind and its numbers. What each kind means is reported in `rules/`.

use std::fmt;
use std::time::Duration;

use dripfeed_job::rate::EXACT;
use dripfeed_job::{Rate, duration};
use thiserror::Error;

use crate::policy::calendar::Calendar;
use crate::policy::scope::KeyPart;

/// Counts are kept in five bytes.
pub(crate) const MOST_LIMIT: u64 = 1_000_000_000_000;
/// A log keeps nine bytes for each call, in each scope.
pub(crate) const MOST_LOG: u64 = 1_000;
/// A lease takes sixteen bytes.
pub(crate) const MOST_CONCURRENT: u64 = 1_000;
/// Below it, nothing useful would be left of a burst to take ahead.
pub(crate) const LEAST_LEASED: u64 = 8;
const LONGEST_PERIOD_US: u64 = 366 * 24 * 3600 * 1_000_000;

/// A validated tier: `limit` per `period`, by the rule of its kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tier {
    limit: u64,
    period_us: u64,
    kind: TierKind,
}

/// What a tier does with its limit and period.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TierKind {
    /// `limit` calls drain per period; at most `burst` at once.
    Bucket { burst: u64 },
    /// One call per period, to the microsecond.
    Gate,
    /// A count that starts again with each window.
    Fixed(Align),
    /// Like `Fixed`, with the count of the window before weighed in: an estimate.
    Sliding,
    /// The time of each call: exact.
    Log { min_gap_us: u64, count_denied: bool },
    /// Leases that are out; the period is how long one lives.
    Concurrent,
    /// The length of the queue that the rules are asked for. Without a period.
    Backlog,
}

/// Where the windows of `TierKind::Fixed` begin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Align {
    /// At multiples of the period since 1970; with `spread`, shifted by a share of the period that depends on that part
    /// of the scope, so that not all begin at once.
    Epoch { spread: Option<KeyPart> },
    /// At the first call after the window before.
    First,
    /// With the day, week, month or year of a time zone.
    Calendar(Calendar),
}

/// The broken rule.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BadTier {
    #[error("a limit of 0 lets nothing pass: use at least 1")]
    ZeroLimit,
    #[error("a limit of {0} is out of range: use at most {MOST_LIMIT}")]
    LargeLimit(u64),
    #[error("a period of zero: use at least 1us")]
    ZeroPeriod,
    #[error("a period of {} is too long: use at most 366 days", duration::show(*.0))]
    LongPeriod(Duration),
    #[error("a burst of 0 lets nothing pass: use at least 1")]
    ZeroBurst,
    #[error(
    "{limit} per {} with {what} can't be counted exactly (a product passes 2^53): use smaller numbers",
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
    /// A leaky bucket, which is a token bucket, which is GCRA.
    ///
    /// # Errors
    /// When it can't be counted exactly, or the limit, period or burst is zero.
    pub fn bucket(limit: u64, period: Duration, burst: u64) -> Result<Self, BadTier> {
        let tier = Self::new(limit, period, TierKind::Bucket { burst })?;
        if burst == 0 {
            return Err(BadTier::ZeroBurst);
        }
        let (_, unit) = tier.drain();
        tier.exact(burst, unit, EXACT / 4, || format!("a burst of {burst}"))
    }

    /// The bucket of a rate; a burst that can't be counted exactly with it becomes the largest that can.
    pub fn of_rate(rate: Rate, burst: u64) -> Self {
        let kind = TierKind::Bucket { burst: burst.clamp(1, Self::most_burst(rate)) };
        Self { limit: rate.limit(), period_us: rate.period_us(), kind }
    }

    /// The largest burst that can be counted exactly with a rate.
    pub fn most_burst(rate: Rate) -> u64 {
        let tier = Self { limit: rate.limit(), period_us: rate.period_us(), kind: TierKind::Gate };
        let (_, unit) = tier.drain();
        EXACT / 4 / unit
    }

    /// One per period.
    ///
    /// # Errors
    /// When the period is zero or too long.
    pub fn gate(period: Duration) -> Result<Self, BadTier> {
        Self::new(1, period, TierKind::Gate)
    }

    /// `limit` per window.
    ///
    /// # Errors
    /// When the limit or the period is zero or too large.
    pub fn fixed(limit: u64, period: Duration, align: Align) -> Result<Self, BadTier> {
        Self::new(limit, period, TierKind::Fixed(align))
    }

    /// Windows of a calendar, whose length is that of its unit.
    ///
    /// # Errors
    /// When the limit is zero or too large.
    pub fn calendar(limit: u64, calendar: Calendar) -> Result<Self, BadTier> {
        Self::new(limit, calendar.unit().length(), TierKind::Fixed(Align::Calendar(calendar)))
    }

    /// `limit` per window that slides, weighted by the share of the last one.
    ///
    /// # Errors
    /// When it can't be counted exactly, or the limit or the period is zero.
    pub fn sliding(limit: u64, period: Duration) -> Result<Self, BadTier> {
        let tier = Self::new(limit, period, TierKind::Sliding)?;
        let period_us = tier.period_us;
        tier.exact(limit, period_us, EXACT / 8, || "a sliding window".to_owned())
    }

    /// `limit` in any period, each remembered.
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

    /// At most `limit` leases at once, each for at most `lease`.
    ///
    /// # Errors
    /// When the limit or the lease is zero or too large.
    pub fn concurrent(limit: u64, lease: Duration) -> Result<Self, BadTier> {
        if limit > MOST_CONCURRENT {
            return Err(BadTier::ManyLeases(limit));
        }
        Self::new(limit, lease, TierKind::Concurrent)
    }

    /// At most `limit` jobs that wait in the bucket.
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

    pub fn limit(&self) -> u64 {
        self.limit
    }

    pub fn period(&self) -> Duration {
        Duration::from_micros(self.period_us)
    }

    pub(crate) fn period_us(&self) -> u64 {
        self.period_us
    }

    pub fn kind(&self) -> &TierKind {
        &self.kind
    }

    /// The most that can pass at once: a cost above it never does.
    pub fn most(&self) -> u64 {
        match self.kind {
            TierKind::Bucket { burst } => burst,
            _ => self.limit,
        }
    }

    /// Calls that drain per unit, and the unit in µs, in lowest terms: the smaller they are, the larger a burst is
    /// exact.
    pub(crate) fn drain(&self) -> (u64, u64) {
        let divisor = greatest_divisor(self.limit, self.period_us);
        (self.limit / divisor, self.period_us / divisor)
    }

    /// µs from used up to all left.
    pub(crate) fn refill_us(&self) -> u64 {
        match self.kind {
            TierKind::Bucket { burst } => {
                let refill = (u128::from(burst) * u128::from(self.period_us)).div_ceil(u128::from(self.limit));
                u64::try_from(refill).unwrap_or(u64::MAX)
            }
            TierKind::Sliding => 2 * self.period_us,
            _ => self.period_us,
        }
    }

    /// The same tier where replicas take ahead. What was taken and isn't spent comes on top of what the bucket lets
    /// through at once. Taken calls are good for a quarter of the time in which the burst refills ([`Tier::lease`]), so
    /// in any window those are at most 3/8 of the burst, that were taken together, and the quarter that came meanwhile;
    /// and 3/8 are taken in the window itself.
    pub(crate) fn held_back(&self) -> Self {
        match self.kind {
            TierKind::Bucket { burst } => Self { kind: TierKind::Bucket { burst: burst * 3 / 8 }, ..*self },
            _ => self.clone(),
        }
    }

    /// How long calls that were taken ahead may be spent; None: to the end of the window that they were taken in.
    pub(crate) fn lease(&self) -> Option<Duration> {
        match self.kind {
            TierKind::Bucket { .. } => Some(Duration::from_micros(self.refill_us() / 4)),
            _ => None,
        }
    }

    /// The same tier for one of `replicas` that judge apart; None when there is less than one call for each.
    pub(crate) fn share(&self, replicas: u64) -> Option<Self> {
        let replicas = replicas.max(1);
        let part = |count: u64| Some(count / replicas).filter(|part| *part > 0);
        let (limit, kind) = match &self.kind {
            TierKind::Bucket { burst } => (part(self.limit)?, TierKind::Bucket { burst: part(*burst)? }),
            kind => (part(self.limit)?, kind.clone()),
        };
        Some(Self { limit, kind, ..*self })
    }
}

impl TierKind {
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Bucket { .. } => "bucket",
            Self::Gate => "gate",
            Self::Fixed(_) => "fixed",
            Self::Sliding => "sliding",
            Self::Log { .. } => "log",
            Self::Concurrent => "concurrent",
            Self::Backlog => "backlog",
        }
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} per {}", self.kind.as_str(), self.limit, duration::show(self.period()))
    }
}

/// Whole µs; what a u64 doesn't hold is refused as too long afterwards.
fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX)
}

const fn greatest_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_hours(24);
    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn each_broken_rule_is_named() {
        assert_eq!(Tier::bucket(0, SECOND, 1), Err(BadTier::ZeroLimit));
        assert_eq!(Tier::bucket(1, Duration::ZERO, 1), Err(BadTier::ZeroPeriod));
        assert_eq!(Tier::bucket(1, Duration::from_nanos(999), 1), Err(BadTier::ZeroPeriod));
        assert_eq!(Tier::bucket(1, SECOND, 0), Err(BadTier::ZeroBurst));
        assert_eq!(Tier::gate(367 * DAY), Err(BadTier::LongPeriod(367 * DAY)));
        assert_eq!(Tier::gate(Duration::MAX), Err(BadTier::LongPeriod(Duration::MAX)));
        assert_eq!(Tier::log(MOST_LOG + 1, SECOND, Duration::ZERO, false), Err(BadTier::LargeLog(MOST_LOG + 1)));
        assert_eq!(Tier::log(1, SECOND, DAY, false), Err(BadTier::LongGap { gap: DAY, period: SECOND }));
        assert_eq!(Tier::concurrent(MOST_CONCURRENT + 1, SECOND), Err(BadTier::ManyLeases(MOST_CONCURRENT + 1)));
        assert_eq!(Tier::fixed(u64::MAX, DAY, Align::First), Err(BadTier::LargeLimit(u64::MAX)));
    }

    #[test]
    fn products_that_doubles_do_not_hold_are_refused() {
        assert!(matches!(Tier::sliding(1_000_000, DAY), Err(BadTier::Inexact { .. })));
        assert!(matches!(Tier::bucket(7, DAY, 100_000), Err(BadTier::Inexact { .. })));
        // In lowest terms these are small.
        assert!(Tier::bucket(1_000_000, DAY, 1_000_000).is_ok());
        assert!(Tier::bucket(30_000, SECOND, 30_000).is_ok());
        assert!(Tier::sliding(10_000, DAY).is_ok());
    }

    #[test]
    fn a_share_is_rounded_down_and_none_is_none() {
        let share = |tier: Result<Tier, BadTier>, replicas| {
            tier.ok().and_then(|tier| tier.share(replicas)).map(|tier| (tier.limit(), tier.most()))
        };
        assert_eq!(share(Tier::bucket(10, SECOND, 5), 3), Some((3, 1)));
        assert_eq!(share(Tier::fixed(10, SECOND, Align::First), 3), Some((3, 3)));
        assert_eq!(share(Tier::gate(SECOND), 1), Some((1, 1)));
        assert_eq!(share(Tier::gate(SECOND), 2), None);
    }
}
