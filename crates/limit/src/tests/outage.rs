use std::time::{Duration, Instant};

use crate::{Align, Consistency, LimitError, Limiter, OnStoreError, PolicySettings, Tier};

use super::bench::{Bench, call, seconds, settings};

/// What is left to each of several replicas.
mod shares;

fn on_error(on_store_error: OnStoreError, tier: Tier) -> PolicySettings {
    PolicySettings { on_store_error, ..settings("a", vec![tier]) }
}

fn ten() -> Tier {
    Tier::fixed(10, seconds(86_400), Align::First).unwrap()
}

/// Decides, within the time that a decision may take; what the machine did meanwhile than run us is not counted.
async fn decide(limiter: &Limiter) -> Result<bool, LimitError> {
    let (started, mut elsewhere) = (Instant::now(), Duration::ZERO);
    let request = call("acme");
    let mut decision = std::pin::pin!(limiter.decide(&request));
    let decision = loop {
        let slept = Instant::now();
        let decided = tokio::select! {
            biased;
            decision = &mut decision => Some(decision),
            () = tokio::time::sleep(Duration::from_millis(1)) => None,
        };
        elsewhere += slept.elapsed().saturating_sub(Duration::from_millis(3));
        if let Some(decision) = decided {
            break decision;
        }
    };
    let took = started.elapsed().saturating_sub(elsewhere);
    assert!(took <= Duration::from_millis(50), "{took:?}");
    decision.map(|decision| decision.allowed)
}

async fn passed(limiter: &Limiter, count: usize) -> usize {
    let mut passed = 0;
    for _ in 0..count {
        passed += usize::from(decide(limiter).await.unwrap());
    }
    passed
}

/// Of the ten, by another replica, which waits for Redis however busy the machine is.
async fn used_one(bench: &Bench, on_store_error: OnStoreError) {
    let other = bench.patient_limiter(vec![on_error(on_store_error, ten())]).await;
    assert!(other.decide(&call("acme")).await.unwrap().allowed);
}

/// A server that is gone, and one that is there and doesn't answer.
#[derive(Clone, Copy, Debug)]
enum Away {
    Killed,
    Stopped,
}

impl Bench {
    async fn lose_redis(&mut self, away: Away) {
        match away {
            Away::Killed => self.server.kill().await.unwrap(),
            Away::Stopped => self.server.pause().unwrap(),
        }
    }
}

#[tokio::test]
async fn closed_lets_nothing_pass() {
    for away in [Away::Killed, Away::Stopped] {
        let mut bench = Bench::new().await;
        let limiter = bench.limiter(vec![on_error(OnStoreError::Closed, ten())]).await;
        bench.lose_redis(away).await;
        for _ in 0..5 {
            assert!(matches!(decide(&limiter).await, Err(LimitError::Unavailable { .. })), "{away:?}");
        }
    }
}

#[tokio::test]
async fn open_lets_all_pass_and_counts_it() {
    for away in [Away::Killed, Away::Stopped] {
        let mut bench = Bench::new().await;
        let limiter = bench.limiter(vec![on_error(OnStoreError::Open, ten())]).await;
        bench.lose_redis(away).await;
        assert_eq!(passed(&limiter, 20).await, 20, "{away:?}");
        assert_eq!(limiter.tally()[&"a".parse().unwrap()].unchecked, 20, "{away:?}");
    }
}

#[tokio::test]
async fn local_lets_each_replica_have_its_part() {
    for away in [Away::Killed, Away::Stopped] {
        let mut bench = Bench::new().await;
        let mut replicas = Vec::new();
        for _ in 0..3 {
            let limiter = bench.limiter(vec![on_error(OnStoreError::Local, ten())]).await;
            limiter.set_replicas(3);
            replicas.push(limiter);
        }
        bench.lose_redis(away).await;
        for limiter in replicas {
            assert_eq!(passed(&limiter, 10).await, 3, "{away:?}");
        }
    }
}

#[tokio::test]
async fn local_without_one_call_for_each_replica_lets_nothing_pass() {
    let mut bench = Bench::new().await;
    let gate = Tier::gate(seconds(1)).unwrap();
    let limiter = bench.limiter(vec![on_error(OnStoreError::Local, gate)]).await;
    limiter.set_replicas(2);
    bench.server.kill().await.unwrap();
    assert!(decide(&limiter).await.is_err());
}

#[tokio::test]
async fn local_is_the_part_of_those_that_are_there_now_of_which_what_was_used_is_gone() {
    let tiers: [fn() -> Tier; 3] = [
        ten,
        || Tier::bucket(10, seconds(86_400), 10).unwrap(),
        || Tier::log(10, seconds(86_400), Duration::ZERO, false).unwrap(),
    ];
    for tier in tiers {
        let bench = Bench::new().await;
        let limiter = bench.limiter(vec![on_error(OnStoreError::Local, tier())]).await;
        bench.server.pause().unwrap();
        assert_eq!(passed(&limiter, 3).await, 3);
        for (replicas, more) in [(2, 2), (5, 0), (1, 5)] {
            limiter.set_replicas(replicas);
            assert_eq!(passed(&limiter, 10).await, more, "{replicas} of {}", tier());
        }
        bench.server.resume().unwrap();
    }
}

#[tokio::test]
async fn a_redis_that_hangs_is_not_waited_for() {
    let bench = Bench::new().await;
    used_one(&bench, OnStoreError::Local).await;
    let limiter = bench.limiter(vec![on_error(OnStoreError::Local, ten())]).await;
    limiter.set_replicas(2);
    bench.server.pause().unwrap();
    assert_eq!(passed(&limiter, 8).await, 5);
    bench.server.resume().unwrap();
}

#[tokio::test]
async fn what_was_refused_is_not_charged_when_redis_goes_on() {
    let bench = Bench::new().await;
    used_one(&bench, OnStoreError::Closed).await;
    let limiter = bench.limiter(vec![on_error(OnStoreError::Closed, ten())]).await;
    bench.server.pause().unwrap();
    for _ in 0..12 {
        assert!(decide(&limiter).await.is_err());
    }
    bench.server.resume().unwrap();
    // Over one connection, so after all those.
    let decision = loop {
        if let Ok(decision) = limiter.decide(&call("acme")).await {
            break decision;
        }
    };
    let decision = serde_json::to_value(decision).unwrap();
    assert_eq!(decision["policies"][0]["tiers"][0]["remaining"], 8, "{decision}");
}

#[tokio::test]
async fn limits_are_shared_again_when_redis_is_back() {
    let mut bench = Bench::new().await;
    let limiter = bench.limiter(vec![on_error(OnStoreError::Closed, ten())]).await;
    bench.server.kill().await.unwrap();
    assert!(decide(&limiter).await.is_err());
    bench.server.start_again().await.unwrap();
    let back = Instant::now();
    while decide(&limiter).await.is_err() {
        assert!(back.elapsed() < seconds(60));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let other = bench.patient_limiter(vec![on_error(OnStoreError::Closed, ten())]).await;
    let mut passed = 0;
    for _ in 0..20 {
        passed += usize::from(other.decide(&call("acme")).await.unwrap().allowed);
    }
    assert!(passed <= 9, "one had passed before: {passed}");
}

#[tokio::test]
async fn counts_go_on_for_two_syncs_and_then_as_the_policy_says() {
    let mut bench = Bench::new().await;
    let sync = Duration::from_millis(50);
    let counted = PolicySettings {
        consistency: Consistency::Async { sync },
        ..on_error(OnStoreError::Closed, Tier::fixed(1_000, seconds(86_400), Align::First).unwrap())
    };
    let limiter = bench.limiter(vec![counted]).await;
    bench.server.kill().await.unwrap();
    assert!(decide(&limiter).await.unwrap(), "a replica counts alone");
    let since = Instant::now();
    while decide(&limiter).await.is_ok() {
        assert!(since.elapsed() < seconds(60));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    bench.server.start_again().await.unwrap();
    let back = Instant::now();
    while decide(&limiter).await.is_err() {
        assert!(back.elapsed() < seconds(60));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// What a test needs on a machine that sometimes stands still, and a program whose Redis is far away.
#[tokio::test]
async fn a_longer_timeout_waits_for_a_slow_redis() {
    let bench = Bench::new().await;
    let limiter = bench.patient_limiter(vec![on_error(OnStoreError::Closed, ten())]).await;
    bench.store.command::<()>(redis::cmd("CLIENT").arg("PAUSE").arg(100)).await.unwrap();
    assert!(limiter.decide(&call("acme")).await.unwrap().allowed);
}
