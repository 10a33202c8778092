use crate::decide::clock::Clock;
use crate::decide::plan::Scope;
use crate::replica::async_counter::AsyncCounter;
use crate::{Plan, Policies};

use super::{counted, long};
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

#[tokio::test]
async fn what_was_counted_of_a_counter_that_is_no_longer_known_is_reported() {
    const CALLERS: usize = 2_000;
    let bench = Bench::new().await;
    let policies = policies(vec![counted(vec![long(1)], seconds(60))]);
    let few = AsyncCounter::new(50);
    assert_eq!(passed(&few, &bench, &policies, CALLERS).await, CALLERS);
    few.report(&bench.store, &Clock::new()).await;
    let other = AsyncCounter::new(AsyncCounter::MOST);
    assert_eq!(passed(&other, &bench, &policies, CALLERS).await, 0, "each has had its call");
}
