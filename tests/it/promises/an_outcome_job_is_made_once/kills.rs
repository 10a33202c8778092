//! A kill at every step neither loses an outcome job nor makes two.

use std::collections::{BTreeMap, BTreeSet};

use dripfeed_tests::buckets::{self, job};
use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::Upstream;
use serde_json::Value;

const JOBS: usize = 12;

/// At each script of the way, before and after it was carried out.
const STEPS: [&str; 4] = ["settle", "next_outcomes", "admit", "handed_over"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_at_every_step_neither_loses_an_outcome_job_nor_makes_two() {
    let (work, events) = (Upstream::willing().await, Upstream::willing().await);
    let service = Service::new(&format!(
        "[buckets.work]\nupstream = \"{}\"\non_outcome = {{ bucket = \"events\", outcomes = [\"delivered\"] }}\n\
         [buckets.events]\nupstream = \"{}\"\n",
        work.url(),
        events.url()
    ))
    .await;
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let bucket = buckets::open(&service.redis, buckets::settings("work")).await;
    let mut ids = BTreeSet::new();
    for step in STEPS {
        for fault in [ProxyFault::Drop, ProxyFault::Close] {
            // It serves `work` alone, so that what it submits to the other bucket comes from the outbox.
            let url = format!("redis.url={}", proxy.url());
            let mut processor = service.role("processor", &[&url, "processor.buckets=[\"work\"]"]).await;
            let calls = proxy.calls(step);
            proxy.plan(step, fault, 1);
            for n in 0..JOBS {
                ids.insert(buckets::submit(&bucket, job(n.to_string())).await.id.to_string());
            }
            until("it comes to that", async || proxy.has_done(step)).await;
            processor.kill().await;
            assert!(proxy.calls(step) > calls, "{step} {fault:?}");
            proxy.behave(step);
        }
    }
    let _processor = service.processor().await;
    service.drained("work").await;
    until("all are handed over", async || service.redis::<u64>("XLEN dripfeed:{work}:outbox").await == 0).await;
    service.drained("events").await;

    let mut jobs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for call in events.calls() {
        let body: Value = serde_json::from_slice(&call.body).expect("JSON");
        jobs.entry(body["id"].as_str().expect("an id").to_owned()).or_default().insert(call.job);
    }
    assert_eq!(jobs.keys().cloned().collect::<BTreeSet<_>>(), ids, "none is lost");
    let doubled: Vec<_> = jobs.iter().filter(|(_, jobs)| jobs.len() > 1).collect();
    assert_eq!(doubled, Vec::<(&String, &BTreeSet<String>)>::new(), "none is there twice");
    assert_eq!(service.counts("events").await.accepted, ids.len() as u64);
}
