use axum::body::Body;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::harness::{Harness, PATIENCE, buried, delivered, request, settings};

/// Those that get no job.
const IDLE: usize = 1200;
/// If all were shown, it would be a page of 700 kB.
const FEW_BYTES: usize = 20_000;

#[tokio::test]
async fn of_many_buckets_those_without_jobs_are_left_out() {
    let idle = (0..IDLE).map(|number| settings(&format!("idle-{number}")));
    let harness = Harness::with(idle.chain([settings("b"), settings("paused")]).collect(), Vec::new(), &[]).await;
    harness.submit("a letter").await;
    harness.settle(buried("a test", 400)).await;
    assert_eq!(harness.post("/v1/buckets/paused/pause").await.status, 200);

    let at_rest = scrape_until(&harness, |text| text.contains("dripfeed_redis_up 1")).await;
    assert_eq!(
        series_of_buckets(&at_rest),
        [r#"dripfeed_dead_letters{bucket="b"} 1.0"#, r#"dripfeed_pace_reason{bucket="paused",reason="paused"} 1"#]
    );
    assert!(at_rest.len() < FEW_BYTES, "{} bytes", at_rest.len());

    harness.submit("a job").await;
    let before = scripts(&harness).await;
    let busy = scrape_until(&harness, |text| text.contains(r#"dripfeed_bucket_level{bucket="b"} 1"#)).await;
    let ran = scripts(&harness).await - before;
    assert!(ran < 50, "{ran} scripts, and one bucket has jobs");
    for line in [
        r#"dripfeed_bucket_capacity{bucket="b"} 10.0"#,
        r#"dripfeed_bucket_in_flight{bucket="b"} 0.0"#,
        r#"dripfeed_dead_letters{bucket="b"} 1.0"#,
        r#"dripfeed_dead_letters_dropped_total{bucket="b"} 0"#,
        r#"dripfeed_pace_reason{bucket="b",reason="no_rate"} 1"#,
        r#"dripfeed_jobs_accepted_total{bucket="b"} 2"#,
    ] {
        assert!(busy.lines().any(|found| found == line), "{line} is missing:\n{busy}");
    }
    assert!(!busy.contains("idle-"), "{busy}");
    assert!(busy.len() < FEW_BYTES, "{} bytes", busy.len());

    harness.settle(delivered(200, "text/plain", b"")).await;
    let drained = scrape_until(&harness, |text| text.contains(r#"dripfeed_bucket_level{bucket="b"} 0"#)).await;
    assert!(drained.contains(r#"dripfeed_bucket_oldest_age_seconds{bucket="b"} 0"#), "{drained}");
}

#[tokio::test]
async fn a_frame_of_many_buckets_names_those_that_need_an_operator() {
    let idle = (0..IDLE).map(|number| settings(&format!("idle-{number}")));
    let harness = Harness::with(idle.chain([settings("b"), settings("paused")]).collect(), Vec::new(), &[]).await;
    harness.submit("no replica serves it").await;
    for bucket in ["paused", "idle-7"] {
        assert_eq!(harness.ask(&format!("POST /v1/buckets/{bucket}/jobs"), &[], "x").await.status, 202);
    }
    assert_eq!(harness.post("/v1/buckets/paused/pause").await.status, 200);
    let frame = first_frame(&harness).await;
    assert_eq!(frame["buckets"], json!([]));
    let attention = &frame["attention"];
    assert_eq!((&attention["problems"], &attention["warnings"]), (&json!(3), &json!(1)));
    let rows = attention["buckets"].as_array().unwrap().iter();
    assert_eq!(rows.map(|row| row[0].as_str().unwrap()).collect::<Vec<_>>(), ["b", "idle-7", "paused"]);
}

/// Of a new stream.
async fn first_frame(harness: &Harness) -> Value {
    let mut body =
        harness.intake.entry_point().oneshot(request("GET /v1/events", &[], Body::empty())).await.unwrap().into_body();
    let mut text = String::new();
    while !text.ends_with("\n\n") {
        let piece = body.frame().await.unwrap().unwrap().into_data().unwrap();
        text.push_str(std::str::from_utf8(&piece).unwrap());
    }
    serde_json::from_str(text.split("data: ").nth(1).unwrap()).unwrap()
}

async fn scrape_until(harness: &Harness, is_expected: impl Fn(&str) -> bool) -> String {
    let scrapes = async {
        loop {
            let text = String::from_utf8(harness.get("/metrics").await.body.to_vec()).unwrap();
            if is_expected(&text) {
                return text;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, scrapes).await.expect("what is expected is seen")
}

/// Of what is read from Redis for each bucket.
fn series_of_buckets(text: &str) -> Vec<&str> {
    let families = ["dripfeed_bucket_", "dripfeed_pace_", "dripfeed_dead_", "dripfeed_outbox_"];
    text.lines().filter(|line| families.iter().any(|family| line.starts_with(family))).collect()
}

/// That Redis has run.
async fn scripts(harness: &Harness) -> u64 {
    let mut stats = redis::cmd("INFO");
    stats.arg("commandstats");
    let stats: String = harness.store.command(&stats).await.unwrap();
    let scripts = stats.lines().filter(|line| line.starts_with("cmdstat_eval"));
    scripts.filter_map(|line| line.split_once("calls=")?.1.split(',').next()?.parse::<u64>().ok()).sum()
}
