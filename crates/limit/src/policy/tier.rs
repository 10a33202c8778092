//! A tier of a policy: its kind and its numbers. The rules are in `rules/` and `kinds/`.

mod checked;

use std::fmt;
use std::time::Duration;

use dripfeed_job::rate::EXACT;
use dripfeed_job::{Rate, duration};

use crate::policy::calendar::Calendar;
use crate::policy::scope::KeyPart;
pub use checked::BadTier;

/// Below it, nothing useful would be left of a burst to take ahead.
pub(crate) const LEAST_LEASED: u64 = 8;

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

impl Tier {
    /// The bucket of a rate; a burst that can't be counted exactly with it becomes the largest that can.
    pub fn of_rate(rate: Rate, burst: u64) -> Self {
        let kind = TierKind::Bucket { burst: burst.clamp(1, Self::most_burst(rate)) };
        Self { limit: rate.limit(), period_us: rate.period_us(), kind }
    }

    /// In the place of one that can't be read; never used.
    pub(crate) const fn unread() -> Self {
        Self { limit: 1, period_us: 1, kind: TierKind::Gate }
    }

    /// The largest burst that can be counted exactly with a rate.
    pub fn most_burst(rate: Rate) -> u64 {
        let tier = Self { limit: rate.limit(), period_us: rate.period_us(), kind: TierKind::Gate };
        let (_, unit) = tier.drain();
        EXACT / 4 / unit
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

const fn greatest_divisor(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests;
