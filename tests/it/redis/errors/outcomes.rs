use std::time::Instant;

use dripfeed_tests::buckets::{self, job, submit};
use dripfeed_tests::redis_fault_proxy::RedisFaultProxy;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::Upstream;

use super::{faults, most_lines};

pub const SCRIPTS: [&str; 2] = ["handed_over", "next_outcomes"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_outcome_is_handed_over_once_whatever_redis_answers() {
    let upstream = Upstream::willing().await;
    let service = Service::new(&format!(
        "[buckets.work]\nupstream = \"{}\"\non_outcome = {{ bucket = \"events\", outcomes = [\"delivered\"] }}\n\
         [buckets.events]\nupstream = \"http://127.0.0.1:1/\"\n",
        upstream.url()
    ))
    .await;
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let url = format!("redis.url={}", proxy.url());
    let fast = [&url, "redis.response_timeout=300ms", "processor.buckets=[\"work\"]"];
    let processor = service.role("processor", &fast).await;
    let work = buckets::open(&service.redis, buckets::settings("work")).await;
    let (begun, mut submitted) = (Instant::now(), 0);
    for name in SCRIPTS.into_iter().chain(["admit"]) {
        for fault in faults() {
            proxy.plan(name, fault, 1);
            submit(&work, job("x")).await;
            submitted += 1;
            proxy.done(name).await;
            until("it is handed over", async || {
                let waiting: u64 = service.redis("XLEN dripfeed:{work}:outbox").await;
                waiting == 0 && service.counts("events").await.accepted >= submitted
            })
            .await;
        }
    }
    assert_eq!(service.counts("events").await.accepted, submitted, "one of each");
    let (log, most) = (processor.log(), most_lines(begun.elapsed().as_secs()));
    assert!(!log.contains("panicked") && log.lines().count() <= most, "{log}");
}
