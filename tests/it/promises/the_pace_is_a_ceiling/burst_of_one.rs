//! A burst of 1 has no room for calls that begin late: two of them may begin closer together than the rate allows, by
//! as much as the README says.

use super::*;

const RATE_PER_S: f64 = 5.0;
const LEAK: &str = "rate = \"5/s\"\nburst = 1";
/// By how much closer two calls may begin than the rate allows.
const EXCEPTION: Duration = Duration::from_millis(25);
/// How late the replies are: far more than the exception, and less than a period.
const LATE: Duration = Duration::from_millis(150);
/// How often the test measures how late it is woken up.
const TICK: Duration = Duration::from_millis(2);

/// Runs the scenario. Returns how late the machine has woken up this test at most, as it may have done to the calling
/// process: the rate is kept at the start of each call, but the call arrives only when the kernel gets it.
async fn with_lateness(scenario: impl Future<Output = ()>) -> Duration {
    let mut scenario = std::pin::pin!(scenario);
    let mut latest = Duration::ZERO;
    loop {
        let begun = Instant::now();
        tokio::select! {
            () = &mut scenario => return latest,
            () = sleep(TICK) => latest = latest.max(begun.elapsed().saturating_sub(TICK)),
        }
    }
}

fn ceiling(lateness: Duration) -> Ceiling {
    let closer = EXCEPTION + lateness;
    Ceiling { rate_per_s: RATE_PER_S, burst: 1.0 + RATE_PER_S * closer.as_secs_f64() }
}

fn keeps_the_exception(upstream: &Upstream, lateness: Duration) {
    let over = ceiling(lateness).excess(arrivals(upstream));
    assert!(over <= 0.0, "{over} calls above the ceiling in some window; the machine was {lateness:?} late");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deaths_and_pauses_bring_no_two_calls_closer_together() {
    let upstream = Upstream::willing().await;
    let (service, intake) = backlog_over(TestRedis::start().await, Durability::Everysec, &upstream, LEAK).await;
    let (mut killed, paused) = (service.processor().await, service.processor().await);
    let _third = service.processor().await;
    let lateness = with_lateness(async {
        operate(&intake, "resume").await;
        upstream.has_got(10).await;
        killed.kill().await;
        paused.pause();
        sleep(Duration::from_millis(700)).await;
        paused.resume();
        let _fourth = service.processor().await;
        upstream.has_got(25).await;
    })
    .await;
    keeps_the_exception(&upstream, lateness);
}

/// One replica repeatedly gets late replies for a while. The other one doesn't.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_replies_bring_no_two_calls_closer_together() {
    let upstream = Upstream::willing().await;
    let redis = TestRedis::start().await;
    let socket = socket_of(&redis);
    let (service, intake) = backlog_over(redis, Durability::Everysec, &upstream, LEAK).await;
    let proxy = Proxy::before(Behind::Redis { socket, breakpoints: Breakpoints::default() }).await;
    let url = format!("redis.url=redis://{}", proxy.address);
    let _late = service.role("processor", &[&url, "redis.response_timeout=2s", "processor.lease=10s"]).await;
    let _prompt = service.processor().await;
    let lateness = with_lateness(async {
        operate(&intake, "resume").await;
        upstream.has_got(5).await;
        for late in [LATE, Duration::ZERO].repeat(4) {
            proxy.links().iter().for_each(|link| link.delay_replies(late));
            upstream.has_got(upstream.count() + 6).await;
        }
    })
    .await;
    keeps_the_exception(&upstream, lateness);
}
