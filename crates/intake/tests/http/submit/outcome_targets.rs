use dripfeed_bucket::{BucketSettings, Kind, OnOutcome, OutcomeTarget};
use dripfeed_job::Ending;
use serde_json::json;

use crate::harness::{Harness, settings};

const JOBS: &str = "POST /v1/buckets/b/jobs";
const BATCH: &str = "POST /v1/buckets/b/jobs/batch";
const OPTION: &str = "dripfeed-on-outcome";

async fn harness() -> Harness {
    let target = OutcomeTarget { bucket: "events".parse().unwrap(), outcomes: vec![Ending::Cancelled] };
    let on_outcome = OnOutcome { targets: vec![target], most: 1, bytes: 1 << 20 };
    let list = BucketSettings { kind: Kind::List, ..settings("list") };
    Harness::with(vec![BucketSettings { on_outcome, ..settings("b") }, settings("events"), list], Vec::new(), &[]).await
}

#[tokio::test]
async fn a_target_that_the_bucket_does_not_list_is_refused_and_so_is_an_address() {
    let harness = harness().await;
    for wrong in ["", "https://example.com/hook", "events,events", "events;none"] {
        harness.ask(JOBS, &[(OPTION, wrong)], "x").await.refuses(422, "bad_option");
    }
    for bucket in ["b", "events", "list"] {
        let line = JOBS.replace("/b/", &format!("/{bucket}/"));
        let problem = harness.ask(&line, &[(OPTION, "elsewhere")], "x").await.refuses(422, "unsupported");
        assert!(problem["detail"].as_str().unwrap().contains("`elsewhere` is not a target in on_outcome"), "{problem}");
        assert_eq!(harness.length(bucket).await, 0);
    }
    let items = json!([{"body": 1, "options": {"on_outcome": "events"}}, {"body": 2, "options": {"on_outcome": "b"}}]);
    let judged = harness.ask(BATCH, &[("content-type", "application/json")], items.to_string()).await;
    assert_eq!(judged.status, 207, "{judged:?}");
    assert_eq!(judged.json()["items"][1]["problem"]["code"], "unsupported");
}

#[tokio::test]
async fn a_job_whose_end_has_no_room_in_the_outbox_is_not_cancelled() {
    let harness = harness().await;
    let ids =
        [harness.submit("x").await, harness.submit("x").await, harness.submit_with(&[(OPTION, "none")], "x").await];
    let cancel = async |id: &String| harness.ask(&format!("DELETE /v1/buckets/b/jobs/{id}"), &[], "").await;
    assert_eq!(cancel(&ids[0]).await.status, 204);
    let state = harness.get("/v1/buckets/b").await.json();
    assert_eq!((&state["outbox"], &state["pace"]["reason"]), (&json!(1), &json!("outbox_full")));
    let refused = cancel(&ids[1]).await;
    assert_eq!(refused.header("retry-after"), Some("1"));
    refused.refuses(503, "overloaded");
    assert_eq!(cancel(&ids[2]).await.status, 204, "nobody is given its end");
    assert_eq!(harness.length("b").await, 1);
}
