use std::time::{Duration, Instant};

use crate::policy::matching::Match;
use crate::{Align, Consistency, Limiter, PolicySettings, Request, Tier};

use crate::tests::bench::{Bench, call, policies, seconds, settings};

/// Of requests of one method.
fn counted(method: &str, sync: Duration) -> PolicySettings {
    let tier = Tier::fixed(1_000, seconds(25_000_000), Align::Epoch { spread: None }).unwrap();
    PolicySettings {
        matching: Match::new(&[method], None).unwrap(),
        consistency: Consistency::Async { sync },
        ..settings(method, vec![tier])
    }
}

/// Longer than a replica goes on without a report every 10 ms.
const LONG: Duration = Duration::from_millis(1_300);

/// Redis has what was counted of a caller's requests of this method.
async fn is_reported(bench: &Bench, method: &str) -> bool {
    bench.store.command(redis::cmd("EXISTS").arg(format!("dripfeed:{{shop}}:limit:{method}:acme"))).await.unwrap()
}

async fn wait_for_report(bench: &Bench, method: &str) {
    let since = Instant::now();
    while !is_reported(bench, method).await {
        assert!(since.elapsed() < seconds(60), "{method} is not reported");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

async fn ask(limiter: &Limiter, method: &str) -> bool {
    limiter.decide(&Request { method, ..call("acme") }).await.unwrap().allowed
}

#[tokio::test]
async fn a_policy_with_a_long_sync_does_not_delay_the_reports_of_others() {
    let bench = Bench::new().await;
    let (rare, often) = (counted("PUT", seconds(60)), counted("GET", Duration::from_millis(10)));
    let limiter = bench.patient_limiter(vec![rare, often]).await;
    assert!(ask(&limiter, "PUT").await);
    // The reporter has found what it waits for.
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(ask(&limiter, "GET").await);
    wait_for_report(&bench, "GET").await;
    tokio::time::sleep(LONG).await;
    assert!(ask(&limiter, "GET").await);
}

#[tokio::test]
async fn a_shortened_sync_applies_at_once() {
    let bench = Bench::new().await;
    let limiter = bench.patient_limiter(vec![counted("GET", seconds(60))]).await;
    assert!(ask(&limiter, "GET").await);
    tokio::time::sleep(Duration::from_millis(50)).await;
    limiter.replace(policies(vec![counted("GET", Duration::from_millis(10))])).unwrap();
    assert!(ask(&limiter, "GET").await);
    wait_for_report(&bench, "GET").await;
    tokio::time::sleep(LONG).await;
    assert!(ask(&limiter, "GET").await);
}
