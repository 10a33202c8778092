//! The calls that the upstream gets from real processors, which die, are suspended and get late replies.

use std::time::{Duration, Instant};

use dripfeed_store::Durability;
use dripfeed_tests::processes::Process;
use dripfeed_tests::proxy::{Behind, Proxy};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::torture::breakpoint::Breakpoints;
use dripfeed_tests::upstream::Upstream;
use dripfeed_tests::upstream::ceiling::Ceiling;

const CEILING: Ceiling = Ceiling { rate_per_s: 60.0, burst: 30.0 };
/// A further rate, over a longer window.
const TIER: (&str, Ceiling) = (r#"{ rate = "600/m", burst = 70 }"#, Ceiling { rate_per_s: 10.0, burst: 70.0 });

/// Queues 1000 jobs in each of three groups: two with the rate and these tiers, and `free`, which isn't bounded.
async fn backlog(redis: TestRedis, upstream: &Upstream, tiers: &str) -> (Service, Process) {
    let settings = format!(
        "[buckets.b]\nupstream = \"{}\"\ncapacity = 20000\n[buckets.b.leak]\nconcurrency = 50\n\
         [buckets.b.fair]\nby = \"group\"\nrate = \"60/s\"\nburst = 30\ntiers = [{tiers}]\n\
         flows = {{ free = {{ rate = \"100000/s\", burst = 100000, tiers = [] }} }}",
        upstream.url()
    );
    let service = Service::quiet(redis, Durability::Everysec, &settings).await;
    let intake = service.intake().await;
    for group in ["a", "b", "free"] {
        let jobs: Vec<_> =
            (0..1000).map(|_| format!("{{\"body\":\"{group}\",\"options\":{{\"group\":\"{group}\"}}}}")).collect();
        let answer = intake.client().post("/v1/buckets/b/jobs/batch", jobs.join("\n")).await.expect("an answer");
        assert_eq!(answer.status, 202, "{answer:?}");
    }
    (service, intake)
}

fn arrivals(upstream: &Upstream, group: &str) -> Vec<Instant> {
    let text = format!("\"{group}\"");
    let mut of: Vec<_> = upstream.calls().iter().filter(|call| call.text() == text).map(|call| call.arrived).collect();
    of.sort_unstable();
    of
}

fn nobody_got_more_than_it_may(upstream: &Upstream, ceiling: Ceiling) {
    for group in ["a", "b"] {
        let arrivals = arrivals(upstream, group);
        let over = ceiling.excess(arrivals.clone());
        assert!(over <= 0.0, "{group} got {over} calls more than it may in some window, of {}", arrivals.len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deaths_and_pauses_make_no_more_calls_and_leave_the_others_alone() {
    let upstream = Upstream::willing().await;
    let (service, _intake) = backlog(TestRedis::start().await, &upstream, "").await;
    let (mut killed, paused) = (service.processor().await, service.processor().await);
    let _third = service.processor().await;
    upstream.has_got(1000).await;
    killed.kill().await;
    paused.pause();
    let calls = upstream.count();
    upstream.has_got(calls + 100).await;
    paused.resume();
    let _fourth = service.processor().await;
    upstream.has_got(1500).await;
    // Jobs that dead processors had claimed may return only after the lease.
    until("the others have all their calls", async || arrivals(&upstream, "free").len() >= 1000).await;
    nobody_got_more_than_it_may(&upstream, CEILING);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tier_over_a_long_window_is_kept_beside_the_rate_in_every_window() {
    let upstream = Upstream::willing().await;
    let (service, _intake) = backlog(TestRedis::start().await, &upstream, TIER.0).await;
    let (mut killed, _other) = (service.processor().await, service.processor().await);
    upstream.has_got(1000 + 2 * 40).await;
    killed.kill().await;
    let _third = service.processor().await;
    // The rate alone would have allowed the calls so far within a second.
    upstream.has_got(1000 + 2 * 90).await;
    nobody_got_more_than_it_may(&upstream, CEILING);
    nobody_got_more_than_it_may(&upstream, TIER.1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_replies_make_no_more_calls() {
    const LATE: Duration = Duration::from_millis(850);
    let upstream = Upstream::willing().await;
    let redis = TestRedis::start().await;
    let socket = redis.folder().join("redis.sock");
    let (service, _intake) = backlog(redis, &upstream, "").await;
    let (mut proxies, mut processors) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let proxy = Proxy::before(Behind::Redis { socket: socket.clone(), breakpoints: Breakpoints::default() }).await;
        let url = format!("redis.url=redis://{}", proxy.address);
        let patient = [url.as_str(), "redis.response_timeout=2s", "processor.lease=10s"];
        processors.push(service.role("processor", &patient).await);
        proxies.push(proxy);
    }
    upstream.has_got(1050).await;
    for late in [LATE, Duration::ZERO, LATE, Duration::ZERO] {
        for link in proxies.iter().flat_map(Proxy::links) {
            link.delay_replies(late);
        }
        upstream.has_got(upstream.count() + 60).await;
    }
    nobody_got_more_than_it_may(&upstream, CEILING);
}
