use std::time::Duration;

use crate::{Align, Limiter, PolicySettings, Request, Tier, Wait};

use super::bench::{Bench, call, seconds, settings};

/// A window that doesn't end in a test.
fn daily() -> Tier {
    Tier::fixed(1, seconds(24 * 3_600), Align::First).unwrap()
}

/// Far longer than the calls of a test take until it sleeps, and not too long to sleep.
const OPENS_MS: u64 = 4_000;

fn gate(ms: u64) -> Tier {
    Tier::gate(Duration::from_millis(ms)).unwrap()
}

async fn wait(limiter: &Limiter, request: &Request<'_>) -> Wait {
    let decision = limiter.decide(request).await.unwrap();
    assert!(!decision.allowed, "{decision:?}");
    decision.wait
}

#[tokio::test]
async fn a_refusal_is_remembered_until_it_is_over() {
    let bench = Bench::new().await;
    let limiter = bench.patient_limiter(vec![settings("a", vec![gate(OPENS_MS)])]).await;
    assert!(limiter.decide(&call("acme")).await.unwrap().allowed);
    let first = limiter.decide(&call("acme")).await.unwrap();
    let before = bench.script_calls().await;
    let again = limiter.decide(&call("acme")).await.unwrap();
    assert_eq!(bench.script_calls().await, before, "no call of Redis for what is known");
    assert!(!again.allowed && again.retry_after() < first.retry_after());
    // A cheaper one isn't known to be refused.
    let peek = Request { cost: Some(0), ..call("acme") };
    assert!(limiter.decide(&peek).await.unwrap().allowed);
    assert_eq!(bench.script_calls().await, before + 1);
    tokio::time::sleep(again.retry_after().unwrap()).await;
    assert!(limiter.decide(&call("acme")).await.unwrap().allowed);
}

#[tokio::test]
async fn who_waits_as_long_as_a_remembered_refusal_says_passes_also_when_redis_was_slow() {
    let bench = Bench::new().await;
    let limiter = bench.patient_limiter(vec![settings("a", vec![gate(OPENS_MS)])]).await;
    assert!(limiter.decide(&call("acme")).await.unwrap().allowed);
    let mut pause = redis::cmd("CLIENT");
    bench.store.command::<()>(pause.arg("PAUSE").arg(300)).await.unwrap();
    assert!(!limiter.decide(&call("acme")).await.unwrap().allowed);
    let before = bench.script_calls().await;
    let remembered = limiter.decide(&call("acme")).await.unwrap();
    assert_eq!(bench.script_calls().await, before, "it is remembered");
    tokio::time::sleep(remembered.retry_after().unwrap()).await;
    assert!(limiter.decide(&call("acme")).await.unwrap().allowed);
}

#[tokio::test]
async fn a_remembered_refusal_reports_the_longest_wait_over_all_policies() {
    let bench = Bench::new().await;
    let limiter = bench.patient_limiter(vec![settings("a", vec![gate(10_000)]), settings("b", vec![daily()])]).await;
    assert!(limiter.decide(&call("acme")).await.unwrap().allowed);
    assert!(wait(&limiter, &call("acme")).await > Wait::After(seconds(80_000)));
    let before = bench.script_calls().await;
    for _ in 0..3 {
        let again = limiter.decide(&call("acme")).await.unwrap();
        assert!(again.wait > Wait::After(seconds(80_000)), "{again:?}");
        assert_eq!(again.violated().map(|verdict| verdict.policy.id().as_str()).collect::<Vec<_>>(), ["a", "b"]);
    }
    assert_eq!(bench.script_calls().await, before, "it is remembered");
}

#[tokio::test]
async fn what_another_caller_was_refused_by_is_not_all_that_refuses_this_one() {
    let bench = Bench::new().await;
    let shared = PolicySettings::new("shared".parse().unwrap(), vec![gate(10_000)]);
    let limiter = bench.patient_limiter(vec![shared, settings("each", vec![daily()])]).await;
    assert!(limiter.decide(&call("acme")).await.unwrap().allowed);
    let globex = limiter.decide(&call("globex")).await.unwrap();
    assert!(globex.retry_after().unwrap() <= seconds(10));
    assert_eq!(globex.policies.len(), 2);
    assert!(wait(&limiter, &call("acme")).await > Wait::After(seconds(80_000)));
    // A policy that lets it pass doesn't make each refusal a call.
    let before = bench.script_calls().await;
    assert!(wait(&limiter, &call("globex")).await <= Wait::After(seconds(10)));
    assert_eq!(bench.script_calls().await, before, "it is remembered");
}

#[tokio::test]
async fn a_costlier_request_waits_longer_than_the_one_that_is_remembered() {
    let bench = Bench::new().await;
    let limiter = bench.patient_limiter(vec![settings("a", vec![Tier::bucket(1, seconds(10), 5).unwrap()])]).await;
    let costing = |cost| Request { cost: Some(cost), ..call("acme") };
    assert!(limiter.decide(&costing(5)).await.unwrap().allowed);
    assert!(wait(&limiter, &costing(1)).await <= Wait::After(seconds(10)));
    assert!(wait(&limiter, &costing(4)).await > Wait::After(seconds(35)));
    for _ in 0..2 {
        assert_eq!(wait(&limiter, &costing(6)).await, Wait::Never);
    }
}

#[tokio::test]
async fn denied_calls_that_a_log_counts_are_counted_beside_a_remembered_refusal() {
    let bench = Bench::new().await;
    let log = Tier::log(1, seconds(2), Duration::ZERO, true).unwrap();
    let limiter = bench.patient_limiter(vec![settings("a", vec![daily()]), settings("log", vec![log])]).await;
    assert!(limiter.decide(&call("acme")).await.unwrap().allowed);
    let before = bench.script_calls().await;
    for _ in 0..3 {
        wait(&limiter, &call("acme")).await;
    }
    assert_eq!(bench.script_calls().await, before + 3);
}

#[tokio::test]
async fn a_refusal_beside_leases_taken_ahead_is_remembered() {
    let bench = Bench::new().await;
    let leased = PolicySettings {
        consistency: crate::Consistency::Leased,
        ..settings("leased", vec![Tier::fixed(1_000, seconds(24 * 3_600), Align::First).unwrap()])
    };
    let limiter = bench.patient_limiter(vec![settings("strict", vec![daily()]), leased]).await;
    assert!(limiter.decide(&call("acme")).await.unwrap().allowed);
    wait(&limiter, &call("acme")).await;
    let before = bench.script_calls().await;
    wait(&limiter, &call("acme")).await;
    assert_eq!(bench.script_calls().await, before);
}
