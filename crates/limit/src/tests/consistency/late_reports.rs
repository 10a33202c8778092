use std::time::Duration;

use crate::{Align, Consistency, Decision, Limiter, Tier};

use super::counted;
use crate::tests::bench::{Bench, call, policies, seconds};

/// Longer than the clocks of a busy machine differ.
const LATE: Duration = Duration::from_secs(2);

async fn ask(limiter: &Limiter) -> Decision {
    limiter.decide(&call("acme")).await.unwrap()
}

async fn wait(limiter: &Limiter) -> Duration {
    let decision = ask(limiter).await;
    assert!(!decision.allowed);
    decision.retry_after().unwrap()
}

#[tokio::test]
async fn who_is_refused_waits_no_longer_because_calls_are_reported_late() {
    let hour = seconds(3_600);
    for tier in
        [Tier::gate(hour).unwrap(), Tier::bucket(1, hour, 1).unwrap(), Tier::fixed(1, hour, Align::First).unwrap()]
    {
        let bench = Bench::new().await;
        let limiter = bench.patient_limiter(vec![counted(vec![tier], seconds(60))]).await;
        assert!(ask(&limiter).await.allowed);
        tokio::time::sleep(LATE).await;
        let before = wait(&limiter).await;
        limiter.close().await.unwrap();
        let after = wait(&limiter).await;
        assert!(after < before + LATE / 2, "{before:?}, and {after:?} after the report");
    }
}

#[tokio::test]
async fn calls_of_a_window_do_not_count_in_the_next_one() {
    let bench = Bench::new().await;
    let settings = counted(vec![Tier::fixed(2, LATE, Align::Epoch { spread: None }).unwrap()], seconds(60));
    let limiter = bench.patient_limiter(vec![settings.clone()]).await;
    assert!(ask(&limiter).await.allowed);
    tokio::time::sleep(LATE).await;
    limiter.close().await.unwrap();
    limiter.replace(policies(vec![crate::PolicySettings { consistency: Consistency::Strict, ..settings }])).unwrap();
    assert_eq!([ask(&limiter).await.allowed, ask(&limiter).await.allowed], [true, true]);
}
