//! Parses the reply of `limit_report` to a plan.

use crate::decide::plan::Scope;
use crate::decide::verdict::{Remaining, ScopeVerdict};
use crate::decide::wait::Wait;

/// A report of `scopes`, and the µs of the Redis clock that it was made at; None: it is of others.
pub(crate) fn read(scopes: &[Scope], report: &[i64]) -> Option<(u64, Vec<ScopeVerdict>)> {
    let mut numbers = report.iter().copied();
    let now_us = count(numbers.next()?)?;
    // Whether it is allowed, and when it would be, follows from the tiers.
    numbers.nth(1)?;
    let verdicts = scopes.iter().map(|scope| {
        let taken = count(numbers.next()?)?;
        let tier = |_| {
            let wait = numbers.next()?;
            let wait = if wait < 0 { Wait::Never } else { Wait::us(count(wait)?) };
            Some((wait, Remaining { calls: count(numbers.next()?)?, resets: count(numbers.next()?)? }))
        };
        let tiers = scope.policy.tiers().iter().map(tier).collect::<Option<Vec<_>>>()?;
        let passed = tiers.iter().all(|(wait, _)| *wait == Wait::Ready);
        Some(ScopeVerdict { passed, taken, tiers })
    });
    let verdicts = verdicts.collect::<Option<Vec<_>>>()?;
    numbers.next().is_none().then_some((now_us, verdicts))
}

fn count(number: i64) -> Option<u64> {
    u64::try_from(number).ok()
}
