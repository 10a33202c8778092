use std::sync::Arc;

use crate::tests::bench::{Bench, NOON, SECOND, plan, policy, seconds};
use crate::{Policy, Tier, Wait};

const HOUR: u64 = 3_600;

fn at_once(limit: u64, lease_s: u64) -> Arc<Policy> {
    policy(vec![Tier::concurrent(limit, seconds(lease_s)).unwrap()])
}

#[tokio::test]
async fn shorter_leases_end_before_longer_ones_that_were_taken_earlier() {
    let bench = Bench::new().await;
    let (before, after) = (at_once(3, HOUR), at_once(3, 10));
    assert!(bench.passes(NOON, &before).await);
    assert!(bench.passes(NOON, &after).await && bench.passes(NOON + SECOND, &after).await);
    let refused = bench.decide(NOON + SECOND, &plan(&after, 1)).await;
    assert_eq!(refused.wait, Wait::After(seconds(9)));
    assert!(!bench.passes(NOON + 10 * SECOND - 1, &after).await);
    assert!(bench.passes(NOON + 10 * SECOND, &after).await);
    assert!(!bench.passes(NOON + 10 * SECOND, &after).await);
}

#[tokio::test]
async fn leases_are_kept_until_their_end_though_later_ones_are_shorter() {
    let bench = Bench::new().await;
    let (before, after) = (at_once(1, HOUR), at_once(1, 10));
    assert!(bench.passes(NOON, &before).await);
    assert!(!bench.passes(NOON + SECOND, &after).await);
    let kept_ms = bench.kept_ms(&plan(&after, 1)).await;
    assert!(kept_ms > 3_590_000, "{kept_ms}");
}
