//! 4. In any window w the upstream gets at most rate·w + burst calls, summed over all replicas, also during crashes,
//! restarts and clock steps. When the shared pace can't be read, nothing is sent.

use std::time::{Duration, Instant};

use dripfeed_tests::service::Service;
use dripfeed_tests::upstream::Upstream;

const RATE_PER_S: f64 = 400.0;
const BURST: f64 = 200.0;

/// A backlog that lasts, and three replicas that let it leak.
async fn paced(upstream: &Upstream) -> Service {
    let settings = format!(
        "[buckets.b]\nupstream = \"{}\"\ncapacity = 20000\n\
         [buckets.b.leak]\nrate = \"200/500ms\"\nburst = 200\nconcurrency = 50",
        upstream.url()
    );
    Service::new(&settings).await
}

/// By how many calls the fullest window is over the ceiling; below zero: by how many it is under it. Every window that
/// begins with one call and ends with another is looked at.
fn excess(arrivals: &[Instant]) -> f64 {
    // With a(n) the arrival of the n-th call, the calls from i to j are j - i + 1, and the ceiling rate·(a(j) - a(i)) +
    // burst: the excess is (j - rate·a(j)) - (i - rate·a(i)) + 1 - burst.
    let mut lowest = f64::INFINITY;
    let mut most = f64::NEG_INFINITY;
    for (n, arrival) in arrivals.iter().enumerate() {
        let over = n as f64 - RATE_PER_S * arrival.duration_since(arrivals[0]).as_secs_f64();
        lowest = lowest.min(over);
        most = most.max(over - lowest + 1.0 - BURST);
    }
    most
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_replicas_together_keep_the_pace_and_use_it() {
    let upstream = Upstream::willing().await;
    let service = paced(&upstream).await;
    let intake = service.intake().await;
    let batch: Vec<_> = (0..1000).map(|n| format!("{{\"body\":{n}}}")).collect();
    for _ in 0..6 {
        let answer = intake.client().post("/v1/buckets/b/jobs/batch", batch.join("\n")).await.expect("an answer");
        assert_eq!(answer.status, 202, "{answer:?}");
    }
    intake.client().post("/v1/buckets/b/pause", "").await.unwrap();
    let _processors = [service.processor().await, service.processor().await, service.processor().await];
    intake.client().post("/v1/buckets/b/resume", "").await.unwrap();
    upstream.has_got(1).await;
    tokio::time::sleep(Duration::from_secs(11)).await;
    let arrivals: Vec<Instant> = upstream.calls().iter().map(|call| call.arrived).collect();
    let within: Vec<_> =
        arrivals.iter().filter(|at| at.duration_since(arrivals[0]) <= Duration::from_secs(10)).collect();
    for n in 0..11 {
        eprintln!("{n}: {}", arrivals.iter().filter(|a| a.duration_since(arrivals[0]).as_secs() == n).count());
    }
    eprintln!("calls in 10 s: {}; excess {}", within.len(), excess(&arrivals));
}
