use std::time::Duration;

use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::{Answer, Upstream};
use jiff::Timestamp;
use serde_json::Value;

const JOBS: u64 = 600;
const LINES_A_SECOND: u64 = 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstream_that_refuses_every_job_fills_no_disk_with_log_lines() {
    let upstream = Upstream::start(|_| async { Answer::Status(404) }).await;
    let bucket = format!("[buckets.b]\nupstream = \"{}\"\nleak.concurrency = 50", upstream.url());
    let service = Service::new(&bucket).await;
    let (intake, processor) = (service.intake().await, service.processor().await);
    let batch = format!("[{}]", vec!["{\"body\":1}"; 600].join(","));
    let request = intake.client().request(http::Method::POST, "/v1/buckets/b/jobs/batch");
    let request = request.header("content-type", "application/json");
    assert_eq!(intake.client().call(request, batch).await.expect("an answer").number("accepted"), JOBS);
    until("all are dead", async || service.counts("b").await.dead == JOBS).await;

    let log = processor.log();
    let lines: Vec<Value> = log
        .lines()
        .filter(|line| line.contains("job dead-lettered"))
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let at = |line: &Value| line["timestamp"].as_str().expect("a time").parse::<Timestamp>().expect("a time");
    let lasted: Duration = (at(lines.last().expect("a line")) - at(&lines[0])).try_into().expect("a span");
    let written = u64::try_from(lines.len()).expect("few");
    assert!(written <= LINES_A_SECOND * (lasted.as_secs() + 2), "{written} lines in {lasted:?}");
    assert!(written >= LINES_A_SECOND, "single ones are all written: {written}");
    assert_eq!(lines[0].get("suppressed"), None);
    let suppressed: u64 = lines.iter().filter_map(|line| line["suppressed"].as_u64()).sum();
    assert!(written + suppressed <= JOBS, "{written} and {suppressed}");
}
