use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use dripfeed_tests::processes::command;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::{Answer, Upstream};
use serde_json::value::RawValue;

#[derive(serde::Deserialize)]
struct Line {
    body: Box<RawValue>,
}

/// The whole set where it lies beside the project, else the few that are in it.
fn payloads() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let all = root.join("../../shared/data/webhooks.ndjson");
    if all.is_file() { all } else { root.join("data/webhooks.ndjson") }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_payload_arrives_byte_for_byte_though_a_processor_is_killed_on_the_way() {
    let text = std::fs::read_to_string(payloads()).unwrap();
    let bodies: Vec<Bytes> = text
        .lines()
        .map(|line| Bytes::from(serde_json::from_str::<Line>(line).unwrap().body.get().to_owned()))
        .collect();
    let upstream = Upstream::start(|_| async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Answer::Status(200)
    })
    .await;
    let service = Service::new(&format!(
        "[buckets.hooks]\nupstream = \"{}\"\ncapacity = 50\nleak = {{ concurrency = 5 }}",
        upstream.url()
    ))
    .await;
    let intake = service.intake().await;
    let mut killed = service.processor().await;

    let mut push = command(["push", "hooks", "--server", &intake.url(), "--ndjson"]);
    let pushing = push.arg(payloads()).stdout(std::process::Stdio::piped()).spawn().unwrap();
    upstream.has_got(bodies.len() / 3).await;
    killed.kill().await;
    let held = service.counts("hooks").await.in_flight;
    let _survivor = service.processor().await;
    let pushed = pushing.wait_with_output().await.unwrap();
    assert!(pushed.status.success(), "{pushed:?}");
    let ids: Vec<&str> = std::str::from_utf8(&pushed.stdout).unwrap().lines().collect();
    assert_eq!(ids.len(), bodies.len());
    service.drained("hooks").await;

    let calls = upstream.calls();
    let by_job: BTreeMap<&str, &Bytes> = calls.iter().map(|call| (call.job.as_str(), &call.body)).collect();
    for (id, body) in ids.iter().zip(&bodies) {
        assert!(by_job.get(id) == Some(&body), "the body of {id} did not arrive as it was sent");
    }
    assert!(calls.iter().all(|call| call.headers["content-type"] == "application/json"));
    let duplicates = calls.len() - by_job.len();
    assert!(duplicates as u64 <= held, "{duplicates} duplicates, {held} were in flight at the kill");
    let counts = service.counts("hooks").await;
    assert_eq!((counts.accepted, counts.delivered, counts.dead), (bodies.len() as u64, bodies.len() as u64, 0));
    until("the dead replica's name is gone", async || {
        let consumers: Vec<redis::Value> = service.redis("XINFO CONSUMERS dripfeed:{hooks}:jobs processors").await;
        consumers.len() <= 2
    })
    .await;
}
