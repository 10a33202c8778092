use std::time::Instant;

use crate::decide::clock::Clock;
use crate::decide::plan::Scope;
use crate::decide::verdict::{Remaining, ScopeVerdict};
use crate::decide::wait::Wait;
use crate::replica::async_counter::AsyncCounter;
use crate::replica::lease_account::Withdraw;
use crate::replica::leased::Leases;
use crate::{Plan, Policies};

use super::{counted, leased, long};
use crate::tests::bench::{Bench, call, keys, policies, seconds};

fn scope(policies: &Policies, caller: usize) -> Scope {
    Plan::new(policies, &keys(), &call(&caller.to_string())).into_scopes().remove(0)
}

/// How many of the callers have a call left.
async fn passed(counter: &AsyncCounter, bench: &Bench, policies: &Policies, callers: usize) -> usize {
    let (clock, mut passed) = (Clock::new(), 0);
    for scope in (0..callers).map(|caller| scope(policies, caller)) {
        counter.look_up(&[&scope], &bench.store, &clock, seconds(60)).await;
        passed += usize::from(counter.take(&scope, &clock).is_some_and(|verdict| verdict.passed));
    }
    passed
}

const CALLERS: usize = 2_000;

#[tokio::test]
async fn what_was_counted_of_a_counter_that_is_no_longer_known_is_reported() {
    let bench = Bench::new().await;
    let policies = policies(vec![counted(vec![long(1)], seconds(60))]);
    let few = AsyncCounter::new(50);
    assert_eq!(passed(&few, &bench, &policies, CALLERS).await, CALLERS);
    few.report(&bench.store, &Clock::new()).await;
    let other = AsyncCounter::new(AsyncCounter::MOST);
    assert_eq!(passed(&other, &bench, &policies, CALLERS).await, 0, "each has had its call");
}

#[tokio::test]
async fn what_was_taken_ahead_for_an_account_that_is_no_longer_known_is_returned() {
    let policies = policies(vec![leased(vec![long(1_000)])]);
    let left = Remaining { calls: 989, resets: u64::from(u32::MAX) };
    // One of them was asked for.
    let granted = ScopeVerdict { passed: true, taken: 11, tiers: vec![(Wait::Ready, left)] };
    let few = Leases::new(50);
    for scope in (0..CALLERS).map(|caller| scope(&policies, caller)) {
        few.account(&scope).await.stock_up(&scope, &granted, Instant::now(), 0);
    }
    let back = few.withdraw(Withdraw::All);
    let calls: u64 = back.iter().flat_map(|refunded| refunded.plan.scopes()).map(|scope| scope.cost).sum();
    assert_eq!((back.len(), calls), (CALLERS, 10 * CALLERS as u64));
}
