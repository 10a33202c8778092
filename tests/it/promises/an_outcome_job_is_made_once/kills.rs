//! A kill at every step neither loses an outcome job nor makes two.

use std::collections::{BTreeMap, BTreeSet};

use dripfeed_tests::buckets::{self, DELIVERED, job, join, settle, submit, take_one};
use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::Upstream;
use serde_json::Value;

use super::{outbox, reporting, to};

const JOBS: usize = 12;

/// Settles some jobs of a bucket, and leaves their outcome jobs in the outbox.
async fn leave_outcomes(service: &Service) {
    let work = buckets::open(&service.redis, reporting("work", vec![to("events")], 100)).await;
    let replica = join(&work, "r").await;
    for n in 0..JOBS {
        submit(&work, job(n.to_string())).await;
        settle(&replica, take_one(&replica).await, DELIVERED).await;
    }
    replica.leave().await.expect("Redis answers");
    assert_eq!(outbox(&service.redis, "work").await, JOBS as u64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_removed_bucket_has_left_is_reported_and_drained() {
    let work = "[buckets.work]\nupstream = \"http://127.0.0.1:1/\"\n\
                on_outcome = { bucket = \"events\", outcomes = [\"delivered\"] }\n";
    let events = "[buckets.events]\nupstream = \"http://127.0.0.1:1/\"\n";
    let service = Service::new(events).await;
    leave_outcomes(&service).await;
    service.silence("work stream ").await;
    let intake = service.intake().await;
    until("it is reported", async || intake.log().contains("drain work")).await;
    service.configure(&format!("{work}{events}"));
    let (code, said) = service.run(&["drain", "work"]).await;
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(outbox(&service.redis, "work").await, 0);
    assert_eq!(service.counts("events").await.accepted, JOBS as u64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_earlier_settings_have_left_is_handed_over() {
    let buckets = ["work", "events"].map(|name| format!("[buckets.{name}]\nupstream = \"http://127.0.0.1:1/\"\n"));
    let service = Service::new(&buckets.concat()).await;
    leave_outcomes(&service).await;
    let _intake = service.intake().await;
    until("all are handed over", async || outbox(&service.redis, "work").await == 0).await;
    assert_eq!(service.counts("events").await.accepted, JOBS as u64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_process_goes_on_though_the_clock_of_redis_was_set_back() {
    let buckets = ["work", "events"].map(|name| format!("[buckets.{name}]\nupstream = \"http://127.0.0.1:1/\"\n"));
    let service = Service::new(&buckets.concat()).await;
    leave_outcomes(&service).await;
    // The lease of a killed process: after the clock was set back, it ends only in an hour.
    let () = service.redis("SET dripfeed:{work}:outbox:lease dead PX 3600000").await;
    let _intake = service.intake().await;
    until("all are handed over", async || outbox(&service.redis, "work").await == 0).await;
}

/// As in a rolling update: a process with the earlier settings runs beside those with the new ones.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_earlier_settings_leave_later_is_shown_and_handed_over() {
    const ROOM: u64 = 5;
    let work = "[buckets.work]\nupstream = \"http://127.0.0.1:1/\"\n";
    let events = format!("[buckets.events]\nupstream = \"http://127.0.0.1:1/\"\ncapacity = {ROOM}\n");
    let service = Service::new(&format!("{work}{events}")).await;
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let intake = service.role("intake", &[&format!("redis.url={}", proxy.url())]).await;
    until("both outboxes are found empty", async || proxy.calls("XLEN") >= 2).await;
    leave_outcomes(&service).await;
    let waiting = async || intake.client().get("/v1/buckets/work").await.expect("an answer").number("outbox");
    assert!(waiting().await > 0, "they are shown");
    until("those with room are handed over", async || waiting().await == JOBS as u64 - ROOM).await;
    let roomy = intake.client().patch("/v1/buckets/events", r#"{"capacity":100}"#).await.expect("an answer");
    assert_eq!(roomy.status, 200, "{roomy:?}");
    until("the others, too", async || outbox(&service.redis, "work").await == 0).await;
    assert_eq!(service.counts("events").await.accepted, JOBS as u64);
}

/// The scripts that a job and its outcome job pass. The process is killed before and after each is executed.
const STEPS: [&str; 5] = ["take", "settle", "next_outcomes", "admit", "handed_over"];

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
        // `Close` comes first: it executes the script with its source, so that Redis knows the hash afterwards.
        for fault in [ProxyFault::Close, ProxyFault::Drop] {
            // The processor serves only `work`, so its submissions to `events` come from the outbox.
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
