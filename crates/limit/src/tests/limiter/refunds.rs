use std::time::{Duration, Instant};

use crate::{Align, Decision, Limiter, Tier};

use crate::tests::bench::{Bench, call, seconds, settings};

const PERIOD: Duration = Duration::from_secs(1);

async fn take(limiter: &Limiter) -> Decision {
    limiter.decide(&call("acme")).await.unwrap()
}

/// Takes two calls in a window, and waits until that is over.
async fn take_and_wait(limiter: &Limiter) -> [Decision; 2] {
    let taken = [take(limiter).await, take(limiter).await];
    assert!(taken.iter().all(|decision| decision.allowed));
    let since = Instant::now();
    while limiter.decide(&crate::Request { cost: Some(0), ..call("acme") }).await.unwrap().policies[0].tiers[0]
        .remaining
        < 3
    {
        assert!(since.elapsed() < seconds(60));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    taken
}

#[tokio::test]
async fn what_was_charged_in_a_window_that_is_over_is_not_returned_to_the_next_one() {
    for tier in [
        Tier::fixed(3, PERIOD, Align::Epoch { spread: None }).unwrap(),
        Tier::fixed(3, PERIOD, Align::First).unwrap(),
        Tier::log(3, PERIOD, Duration::ZERO, false).unwrap(),
    ] {
        let bench = Bench::new().await;
        let limiter = bench.patient_limiter(vec![settings("a", vec![tier.clone(), long()])]).await;
        let taken = take_and_wait(&limiter).await;
        let begun = Instant::now();
        let mut passed = 0;
        for _ in 0..3 {
            passed += u32::from(take(&limiter).await.allowed);
        }
        assert_eq!(passed, 3, "{tier}");
        for decision in taken {
            limiter.refund(decision).await.unwrap();
        }
        let decision = take(&limiter).await;
        // Otherwise another window may have begun.
        if begun.elapsed() < PERIOD / 2 {
            assert!(!decision.allowed, "a fourth of 3: {tier}");
            let left = decision.policies[0].tiers[1].remaining;
            assert_eq!(left, 100 - 3, "but to the window that they were charged in: {tier}");
        }
    }
}

/// A window that doesn't end in a test.
fn long() -> Tier {
    Tier::fixed(100, seconds(25_000_000), Align::Epoch { spread: None }).unwrap()
}
