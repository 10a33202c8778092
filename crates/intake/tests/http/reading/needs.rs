use std::time::Duration;

use dripfeed_bucket::{BucketSettings, CallStats, OnOutcome, OutboxRelay, OutcomeTarget, Settlement, WhenDeadFull};
use dripfeed_job::Ending;
use serde_json::{Value, json};

use crate::harness::{Harness, buried, delivered, settings};

async fn with(settings: BucketSettings) -> Harness {
    Harness::with(vec![settings], Vec::new(), &[]).await
}

/// The `problems` and the `warnings` of `b`.
async fn needs(harness: &Harness) -> [Value; 2] {
    let state = harness.get("/v1/buckets/b").await.json();
    ["problems", "warnings"].map(|kind| state[kind].clone())
}

fn nothing() -> [Value; 2] {
    [json!([]), json!([])]
}

fn problem(name: &str) -> [Value; 2] {
    [json!([name]), json!([])]
}

fn warning(name: &str) -> [Value; 2] {
    [json!([]), json!([name])]
}

#[tokio::test]
async fn jobs_that_no_processor_calls_are_a_problem_until_one_comes() {
    let harness = with(settings("b")).await;
    assert_eq!(needs(&harness).await, nothing());
    harness.submit("x").await;
    assert_eq!(needs(&harness).await, problem("no_processor"));
    let _replica = harness.replica().await;
    assert_eq!(needs(&harness).await, nothing());
}

#[tokio::test]
async fn a_pause_is_a_warning_while_jobs_wait_for_its_end() {
    let harness = with(settings("b")).await;
    let _replica = harness.replica().await;
    harness.post("/v1/buckets/b/pause").await;
    assert_eq!(needs(&harness).await, nothing());
    harness.submit("x").await;
    assert_eq!(needs(&harness).await, warning("paused"));
    harness.post("/v1/buckets/b/resume").await;
    assert_eq!(needs(&harness).await, nothing());
}

#[tokio::test]
async fn a_bucket_without_much_room_is_a_warning_and_a_problem_once_it_refuses() {
    let harness = with(settings("b")).await;
    let replica = harness.replica().await;
    for _ in 0..8 {
        harness.submit("x").await;
    }
    assert_eq!(needs(&harness).await, nothing());
    harness.submit("x").await;
    assert_eq!(needs(&harness).await, warning("nearly_full"));
    harness.submit("x").await;
    harness.ask("POST /v1/buckets/b/jobs", &[], "x").await.refuses(429, "bucket_full");
    assert_eq!(needs(&harness).await, problem("refusing"));
    for _ in 0..2 {
        let taken = harness.take(&replica).await;
        replica.settle(taken.claim, delivered(200, "text/plain", b"")).await.unwrap();
    }
    assert_eq!(needs(&harness).await, nothing());
}

#[tokio::test]
async fn jobs_that_are_refused_for_want_of_bytes_are_a_problem() {
    let harness = with(BucketSettings { capacity_bytes: 2000, ..settings("b") }).await;
    let _replica = harness.replica().await;
    harness.submit(&"x".repeat(1800)).await;
    assert_eq!(needs(&harness).await, warning("nearly_full"));
    harness.ask("POST /v1/buckets/b/jobs", &[], "x".repeat(200)).await.refuses(429, "bucket_full");
    assert_eq!(needs(&harness).await, problem("refusing"));
}

#[tokio::test]
async fn calls_most_of_which_fail_are_a_problem() {
    let harness = with(settings("b")).await;
    let made = async |status: Option<u16>, calls: usize| {
        let mut saw = CallStats::default();
        (0..calls).for_each(|_| saw.answered(status, Duration::from_millis(5)));
        harness.bucket("b").sample_history(&saw).await.unwrap();
    };
    made(None, 4).await;
    assert_eq!(needs(&harness).await, nothing());
    made(Some(503), 3).await;
    assert_eq!(needs(&harness).await, problem("failing"));
    let state = harness.get("/v1/buckets/b").await.json();
    assert_eq!(state["recent_answers"], json!({ "5xx": 3, "none": 4 }));
    harness.post("/v1/buckets/b/pause").await;
    assert_eq!(needs(&harness).await, nothing());
    harness.post("/v1/buckets/b/resume").await;
    made(Some(200), 8).await;
    assert_eq!(needs(&harness).await, nothing());
}

#[tokio::test]
async fn a_long_throttle_is_a_warning_and_a_short_one_is_none() {
    let mut long = settings("b");
    long.leak.max_hold = Duration::from_hours(1);
    for (settings, expected) in [(long, warning("throttled")), (settings("b"), nothing())] {
        let harness = with(settings).await;
        let replica = harness.replica().await;
        harness.submit("x").await;
        let taken = harness.take(&replica).await;
        let settlement = Settlement::Throttled { wait: Some(Duration::from_mins(10)) };
        replica.settle(taken.claim, settlement).await.unwrap();
        assert_eq!(needs(&harness).await, expected);
    }
}

#[tokio::test]
async fn dead_letters_are_a_warning_until_they_are_gone() {
    let harness = with(settings("b")).await;
    harness.submit("x").await;
    harness.settle(buried("gone", 410)).await;
    assert_eq!(needs(&harness).await, warning("dead_letters"));
    harness.bucket("b").sample_history(&CallStats::default()).await.unwrap();
    assert_eq!(needs(&harness).await, warning("dead_rising"));
    assert_eq!(harness.get("/v1/buckets/b").await.json()["recent_dead"], 1);
    assert_eq!(harness.ask("DELETE /v1/buckets/b/dead?status=410", &[], "").await.status, 200);
    assert_eq!(needs(&harness).await, nothing());
}

#[tokio::test]
async fn dead_letters_at_their_maximum_are_a_problem_where_they_stop_the_bucket() {
    for (when_dead_full, expected) in [
        (WhenDeadFull::Hold, [json!(["dead_full"]), json!(["dead_letters"])]),
        (WhenDeadFull::DropOldest, warning("dead_letters")),
    ] {
        let mut settings = settings("b");
        (settings.keep.most_dead, settings.keep.when_dead_full) = (1, when_dead_full);
        let harness = with(settings).await;
        harness.submit("x").await;
        harness.settle(buried("gone", 410)).await;
        assert_eq!(needs(&harness).await, expected);
    }
}

/// Jobs of `b` whose cancellation is a job of `events`; `most` of these may wait in the outbox.
async fn reporting(most: u64, events: BucketSettings) -> Harness {
    let target = OutcomeTarget { bucket: "events".parse().unwrap(), outcomes: vec![Ending::Cancelled] };
    let on_outcome = OnOutcome { targets: vec![target], most, bytes: 1 << 20 };
    let harness = Harness::with(vec![BucketSettings { on_outcome, ..settings("b") }, events], Vec::new(), &[]).await;
    let id = harness.submit("x").await;
    assert_eq!(harness.ask(&format!("DELETE /v1/buckets/b/jobs/{id}"), &[], "").await.status, 204);
    harness
}

#[tokio::test]
async fn a_full_outbox_is_a_problem_until_its_jobs_are_handed_over() {
    let harness = reporting(1, settings("events")).await;
    assert_eq!(needs(&harness).await, problem("outbox_full"));
    OutboxRelay::new(harness.bucket("b")).hand_over(&harness.buckets).await.unwrap();
    assert_eq!(needs(&harness).await, nothing());
}

#[tokio::test]
async fn an_outcome_job_that_never_fits_is_a_problem_until_its_bucket_is_larger() {
    let harness = reporting(10, BucketSettings { capacity_bytes: 64, ..settings("events") }).await;
    assert_eq!(needs(&harness).await, nothing());
    let mut courier = OutboxRelay::new(harness.bucket("b"));
    courier.hand_over(&harness.buckets).await.unwrap();
    assert_eq!(needs(&harness).await, problem("outbox_oversized"));
    let larger = harness.ask("PATCH /v1/buckets/events", &[], r#"{"capacity_bytes": "1MiB"}"#).await;
    assert_eq!(larger.status, 200, "{larger:?}");
    // Another process goes over all of them again.
    harness.store.command::<u64>(redis::cmd("DEL").arg("dripfeed:{b}:outbox:lease")).await.unwrap();
    OutboxRelay::new(harness.bucket("b")).hand_over(&harness.buckets).await.unwrap();
    assert_eq!(needs(&harness).await, nothing());
}
