use std::time::{Duration, Instant};

use crate::{Limiter, Tier};

use crate::tests::bench::{Bench, call, seconds, settings};

async fn passes(limiter: &Limiter) -> bool {
    limiter.decide(&call("acme")).await.unwrap().allowed
}

/// A client that leaves while Redis decides ends the future of its decision.
#[tokio::test]
async fn the_lease_of_a_decision_that_nobody_awaits_any_more_is_returned() {
    let bench = Bench::new().await;
    let one_at_once = settings("one", vec![Tier::concurrent(1, seconds(3_600)).unwrap()]);
    let limiter = bench.patient_limiter(vec![one_at_once]).await;
    let decision = limiter.decide(&call("acme")).await.unwrap();
    limiter.release(decision).await.unwrap();
    let client = |words: &[&str]| redis::cmd("CLIENT").arg(words).to_owned();
    bench.store.command::<()>(&client(&["PAUSE", "60000", "WRITE"])).await.unwrap();
    let asked = async {
        let info = redis::cmd("INFO").arg("clients").to_owned();
        while !bench.store.command::<String>(&info).await.unwrap().contains("\nblocked_clients:1") {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        answer = passes(&limiter) => panic!("{answer}"),
        () = asked => (),
    }
    bench.store.command::<()>(&client(&["UNPAUSE"])).await.unwrap();
    let since = Instant::now();
    while !passes(&limiter).await {
        assert!(since.elapsed() < seconds(60), "the lease is out");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(!passes(&limiter).await, "one at once");
}
