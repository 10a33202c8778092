//! Parses what `limit_report` and `limit_states` return for a plan.

use crate::decide::plan::Scope;
use crate::decide::verdict::{Remaining, ScopeVerdict};
use crate::decide::wait::Wait;
use crate::kinds::Reader;
use crate::local::LocalScope;

/// The µs of the Redis clock when a script ran too late to decide, or too early; `None` if it decided.
pub(crate) fn read_untimely(report: &[i64]) -> Option<u64> {
    let [now_us] = report else { return None };
    count(*now_us)
}

/// Parses a report of `scopes`. Returns also the µs of the Redis clock; `None` if the report is of other scopes.
pub(crate) fn read(scopes: &[Scope], report: &[i64]) -> Option<(u64, Vec<ScopeVerdict>)> {
    let mut numbers = report.iter().copied();
    let now_us = count(numbers.next()?)?;
    // Skips `allowed` and `retry`, which follow from the tiers.
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

/// Parses the states of `scopes` after a request that all of them allowed, at `now_us` of the Redis clock. Returns
/// `None` if the states are of other scopes.
pub(crate) fn read_states(scopes: &[Scope], now_us: u64, states: &[u8]) -> Option<Vec<ScopeVerdict>> {
    let mut states = Reader::new(states);
    let verdicts = scopes.iter().map(|scope| {
        let mut local = LocalScope::new(scope.phases(now_us));
        local.read_next(&mut states, scope.policy.fingerprint())?;
        // If the clock was set back a little, the state's time stands still until the clock has caught up.
        let ahead = local.last().checked_sub(now_us)?;
        let left = local.left().into_iter().map(|left| Remaining { resets: left.resets + ahead, ..left });
        let tiers = left.map(|left| (Wait::Ready, left)).collect();
        Some(ScopeVerdict { passed: true, taken: scope.cost, tiers })
    });
    let verdicts = verdicts.collect::<Option<Vec<_>>>()?;
    states.is_empty().then_some(verdicts)
}

fn count(number: i64) -> Option<u64> {
    u64::try_from(number).ok()
}
