//! `concurrent`, with `concurrent.lua`.

use super::raw::{NO_LIMIT, Parsed, Raw, text_error, time};
use super::rule::{Reader, Rule};
use crate::decide::verdict::Remaining;
use crate::decide::wait::Wait;
use crate::policy::tier::Tier;

pub(super) fn read(raw: &Raw) -> Parsed<Tier> {
    if raw.period.is_some() || raw.rate.is_some() {
        return Err("`concurrent` has no period: set the maximum duration of a lease as `lease`".to_owned());
    }
    let lease = raw.lease.as_deref().ok_or("missing `lease`: set the maximum duration of a lease")?;
    text_error(Tier::concurrent(raw.limit.ok_or(NO_LIMIT)?, time(lease)?))
}

/// The taken leases.
#[derive(Debug)]
pub(super) struct Concurrent {
    limit: u64,
    period: u64,
    leases: Vec<Lease>,
}

#[derive(Debug)]
struct Lease {
    expires: u64,
    n: u64,
    id: u64,
}

impl Concurrent {
    pub(super) fn new(limit: u64, period: u64) -> Self {
        Self { limit, period, leases: Vec::new() }
    }

    fn sum(&self) -> u64 {
        self.leases.iter().map(|lease| lease.n).sum()
    }
}

impl Rule for Concurrent {
    fn advance(&mut self, _last: u64, now: u64) {
        self.leases.retain(|lease| lease.expires > now);
    }

    fn wait(&self, now: u64, n: u64) -> Wait {
        if n > self.limit {
            return Wait::Never;
        }
        let (mut sum, mut free_at) = (self.sum() + n, 0);
        for lease in &self.leases {
            if sum <= self.limit {
                break;
            }
            sum -= lease.n;
            free_at = free_at.max(lease.expires);
        }
        Wait::us(free_at.saturating_sub(now))
    }

    fn charge(&mut self, now: u64, n: u64, lease: u64) {
        self.leases.push(Lease { expires: now + self.period, n, id: lease });
    }

    fn refund(&mut self, _now: u64, _n: u64, lease: u64) {
        self.release(lease);
    }

    fn release(&mut self, lease: u64) {
        self.leases.retain(|known| known.id != lease);
    }

    fn left(&self, now: u64) -> Remaining {
        let resets = self.leases.iter().map(|lease| lease.expires - now).max().unwrap_or(0);
        Remaining { calls: self.limit.saturating_sub(self.sum()), resets }
    }

    fn limit_to(&mut self, tier: &Tier) {
        self.limit = tier.limit();
    }

    fn read(&mut self, packed: &mut Reader<'_>) -> Option<()> {
        packed.number(5)?;
        let bytes = packed.number(4)?;
        let lease = |_| Some(Lease { expires: packed.number(7)?, n: packed.number(2)?, id: packed.number(7)? });
        self.leases = (0..bytes / 16).map(lease).collect::<Option<_>>()?;
        Some(())
    }
}
