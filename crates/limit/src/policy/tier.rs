//! A tier of a policy: its kind and its limits. The rules are in `rules/` and `kinds/`.

mod checked;

use std::fmt;
use std::time::Duration;

use dripfeed_job::rate::MAX_EXACT_INTEGER;
use dripfeed_job::{Rate, duration};

use crate::policy::calendar::Calendar;
use crate::policy::scope::KeyPart;
pub use checked::BadTier;

/// Minimum burst of a leased bucket; of smaller ones too little could be leased in advance.
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
    /// A counter that starts at zero with each window.
    Fixed(Align),
    /// Like `Fixed`, plus a weighted count of the previous window: an estimate.
    Sliding,
    /// The time of each call: exact for any window.
    Log { min_gap_us: u64, count_denied: bool },
    /// Taken leases; the period is the maximum duration of a lease.
    Concurrent,
    /// The length of a queue. Has no period.
    Backlog,
}

/// When the windows of `TierKind::Fixed` begin.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Align {
    /// At multiples of the period since 1970. With `spread`, they are shifted by a part of the period that depends on
    /// this part of the key, so that not all windows begin at once.
    Epoch { spread: Option<KeyPart> },
    /// At the first call after the previous window.
    First,
    /// With the day, week, month or year of a time zone.
    Calendar(Calendar),
}

impl Tier {
    /// Creates the bucket of a rate. A burst that is too large to be counted exactly becomes the largest that can be.
    pub fn of_rate(rate: Rate, burst: u64) -> Self {
        let kind = TierKind::Bucket { burst: burst.clamp(1, Self::most_burst(rate)) };
        Self { limit: rate.limit(), period_us: rate.period_us(), kind }
    }

    /// A placeholder for a tier that can't be parsed; never used.
    pub(crate) const fn placeholder() -> Self {
        Self { limit: 1, period_us: 1, kind: TierKind::Gate }
    }

    /// Returns the largest burst that can be counted exactly with a rate.
    pub fn most_burst(rate: Rate) -> u64 {
        let tier = Self { limit: rate.limit(), period_us: rate.period_us(), kind: TierKind::Gate };
        let (_, unit) = tier.drain();
        MAX_EXACT_INTEGER / 4 / unit
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

    /// Returns the maximum that is allowed at once; a higher cost is never allowed.
    pub fn most(&self) -> u64 {
        match self.kind {
            TierKind::Bucket { burst } => burst,
            _ => self.limit,
        }
    }

    /// Calls that drain per unit, and the unit in µs, in lowest terms, so that larger bursts can be counted exactly.
    pub(crate) fn drain(&self) -> (u64, u64) {
        let divisor = greatest_divisor(self.limit, self.period_us);
        (self.limit / divisor, self.period_us / divisor)
    }

    /// µs from nothing available to all available.
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

    /// The same tier with the burst that Redis enforces if replicas lease in advance. Leased calls that aren't spent
    /// yet are added to what the bucket allows at once. They expire after a quarter of the time in which the burst
    /// refills ([`Tier::lease`]). So in any window, at most 3/8 of the burst are leased before it at once, 1/4 while
    /// these are valid, and 3/8 in the window.
    pub(crate) fn held_back(&self) -> Self {
        match self.kind {
            TierKind::Bucket { burst } => Self { kind: TierKind::Bucket { burst: burst * 3 / 8 }, ..*self },
            _ => self.clone(),
        }
    }

    /// How long leased calls may be spent. `None`: until the end of their window.
    pub(crate) fn lease(&self) -> Option<Duration> {
        match self.kind {
            TierKind::Bucket { .. } => Some(Duration::from_micros(self.refill_us() / 4)),
            _ => None,
        }
    }

    /// The share of the tier for one of `replicas` that decide separately. `None` if it is less than one call.
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
