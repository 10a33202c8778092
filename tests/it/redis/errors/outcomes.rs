use std::time::Instant;

use dripfeed_bucket::*;
use dripfeed_job::Ending;
use dripfeed_tests::buckets::{self, job, submit};
use dripfeed_tests::redis_fault_proxy::RedisFaultProxy;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::Upstream;

use super::{faults, most_lines};

pub const SCRIPTS: [&str; 4] = ["handed_over", "leave_outbox", "next_outcomes", "note_oversized"];

/// Whose bucket `work` has outcome jobs for `events`.
async fn service(upstream: &Upstream) -> Service {
    let work = "[buckets.work]\non_outcome = { bucket = \"events\", outcomes = [\"delivered\"] }";
    let events = "[buckets.events]\nupstream = \"http://127.0.0.1:1/\"";
    Service::new(&format!("{work}\nupstream = \"{}\"\n{events}\n", upstream.url())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_outcome_is_handed_over_once_whatever_redis_answers() {
    let upstream = Upstream::willing().await;
    let service = service(&upstream).await;
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let url = format!("redis.url={}", proxy.url());
    let processor = service.role("processor", &[&url, "processor.buckets=[\"work\"]"]).await;
    let work = buckets::open(&service.redis, buckets::settings("work")).await;
    let (begun, mut submitted) = (Instant::now(), 0);
    for name in ["handed_over", "next_outcomes", "admit"] {
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outcome_jobs_that_never_fit_are_counted_whatever_redis_answers() {
    let upstream = Upstream::willing().await;
    let service = service(&upstream).await;
    // No configuration may have so little.
    let events = buckets::open(&service.redis, buckets::settings("events")).await;
    events.apply_overrides(&buckets::changed("capacity_bytes", "64B")).await.expect("a change");
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let url = format!("redis.url={}", proxy.url());
    let processor = service.role("processor", &[&url]).await;
    let work = buckets::open(&service.redis, buckets::settings("work")).await;
    let (begun, mut submitted) = (Instant::now(), 0);
    for fault in faults() {
        proxy.plan("note_oversized", fault, 1);
        submit(&work, job("x")).await;
        submitted += 1;
        proxy.done("note_oversized").await;
        until("all are counted", async || {
            let counted: Option<u64> = service.redis("HGET dripfeed:{work}:tally outbox_oversized").await;
            counted == Some(submitted)
        })
        .await;
    }
    // It says so, once a minute.
    let (log, most) = (processor.log(), most_lines(begun.elapsed().as_secs()));
    assert!(!log.contains("panicked") && log.lines().count() <= most, "{log}");
    assert!(log.contains("larger than the capacity_bytes"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outcome_jobs_of_unknown_targets_are_left_to_other_processes_whatever_redis_answers() {
    let upstream = Upstream::willing().await;
    let service = Service::new(&format!("[buckets.work]\nupstream = \"{}\"", upstream.url())).await;
    let targets = vec![OutcomeTarget { bucket: "elsewhere".parse().expect("a name"), outcomes: Ending::ALL.to_vec() }];
    let on_outcome = OnOutcome { targets, most: 100, bytes: 16 << 20 };
    let work = buckets::open(&service.redis, BucketSettings { on_outcome, ..buckets::settings("work") }).await;
    let id = submit(&work, job("x")).await.id;
    assert_eq!(work.cancel(id).await.expect("Redis answers"), CancelResult::Cancelled);
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let url = format!("redis.url={}", proxy.url());
    let begun = Instant::now();
    let intake = service.role("intake", &[&url]).await;
    for fault in faults() {
        proxy.plan("leave_outbox", fault, 1);
        proxy.done("leave_outbox").await;
        until("another process may have it", async || {
            service.redis::<u64>("EXISTS dripfeed:{work}:outbox:lease").await == 0
        })
        .await;
    }
    let (log, most) = (intake.log(), most_lines(begun.elapsed().as_secs()));
    assert!(!log.contains("panicked") && log.lines().count() <= most, "{log}");
    assert_eq!(service.redis::<u64>("XLEN dripfeed:{work}:outbox").await, 1);
}
