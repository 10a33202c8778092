use axum::body::Body;
use dripfeed_bucket::RUN_TIME_SETTINGS;
use dripfeed_intake::openapi;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::harness::{Harness, PATIENCE, delivered, request};

const PATCH: &str = "PATCH /v1/buckets/b";

#[tokio::test]
async fn a_bucket_is_paused_and_resumed() {
    let harness = Harness::start().await;
    let paused = harness.post("/v1/buckets/b/pause").await;
    assert_eq!((paused.status.as_u16(), &paused.json()["paused"]), (200, &json!(true)));
    assert_eq!(harness.get("/v1/buckets/b").await.json()["pace"]["reason"], "paused");
    assert_eq!(harness.post("/v1/buckets/b/resume").await.json()["paused"], false);
}

#[tokio::test]
async fn a_purge_cancels_waiting_jobs() {
    let harness = Harness::start().await;
    let ids = [harness.submit("x").await, harness.submit("y").await];
    let purged = harness.post("/v1/buckets/b/purge").await;
    assert_eq!((purged.status.as_u16(), purged.json()), (200, json!({"purged": 2})));
    for id in ids {
        assert_eq!(harness.get(&format!("/v1/buckets/b/jobs/{id}")).await.json()["state"], "cancelled");
    }
}

#[tokio::test]
async fn a_filter_that_an_operation_does_not_have_is_refused() {
    let harness = Harness::start().await;
    let id = harness.submit("x").await;
    for operation in ["purge", "pause", "resume"] {
        let problem = harness.post(&format!("/v1/buckets/b/{operation}?state=parked")).await.refuses(422, "bad_query");
        assert!(problem["detail"].as_str().unwrap().contains("`state`"), "{problem}");
    }
    assert_eq!(harness.get(&format!("/v1/buckets/b/jobs/{id}")).await.json()["state"], "waiting");
}

/// Submissions and checks are called by programs that others configure, who may add something to an address.
const ADDRESSED_BY_OTHERS: [&str; 5] =
    ["/jobs", "/jobs/batch", "/proxy", "/proxy/{path}", "/v1/services/{service}/check"];

/// Of all that there is: who asks for a page of it gets it whole.
const WHOLE_LISTS: [&str; 4] =
    ["/v1/services", "/v1/audit", "/v1/buckets/{bucket}/audit", "/v1/buckets/{bucket}/dead/replays"];

#[tokio::test]
async fn no_operation_ignores_a_query_parameter() {
    let harness = Harness::start().await;
    let api = serde_json::to_value(openapi()).unwrap();
    for (path, methods) in api["paths"].as_object().unwrap() {
        for (method, operation) in methods.as_object().unwrap() {
            let is_post = method == "post" && ADDRESSED_BY_OTHERS.iter().any(|end| path.ends_with(end));
            if !path.starts_with("/v1/") || operation["operationId"].is_null() || is_post || path.contains("/proxy") {
                continue;
            }
            if method == "get" && WHOLE_LISTS.contains(&path.as_str()) {
                continue;
            }
            let named = [("{bucket}", "b"), ("{service}", "s"), ("{id}", "1-1"), ("{path}", "x")];
            let named = named.iter().fold(path.clone(), |path, (name, value)| path.replace(name, value));
            let line = format!("{} {named}?surely_unknown=1", method.to_uppercase());
            let answer = harness.ask(&line, &[], "").await;
            // Of what isn't on here, nothing is read.
            assert!([422, 403].contains(&answer.status.as_u16()), "{line}: {answer:?}");
            if answer.status == 422 {
                assert_eq!(answer.json()["code"], "bad_query", "{line}: {answer:?}");
            }
        }
    }
}

#[tokio::test]
async fn an_operation_ends_and_is_noted_though_its_caller_leaves() {
    let harness = Harness::start().await;
    let mut answering =
        Box::pin(harness.intake.entry_point().oneshot(request("POST /v1/buckets/b/pause", &[], Body::empty())));
    assert!(futures::poll!(answering.as_mut()).is_pending(), "Redis was asked");
    drop(answering);
    let noted = async {
        while harness.get("/v1/buckets/b/audit").await.json()["items"][0]["action"] != "pause" {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, noted).await.expect("it is noted");
    assert_eq!(harness.get("/v1/buckets/b").await.json()["paused"], true);
}

#[tokio::test]
async fn a_bulk_cancel_takes_a_filter_and_cancels_what_matches() {
    let harness = Harness::start().await;
    let cancel = async |filter: &str| harness.ask("POST /v1/buckets/b/jobs/cancel", &[], filter.to_owned()).await;
    let ids = [harness.submit("x").await, harness.submit("y").await];
    for nothing in ["{}", r#"{"state": null, "caller": null, "older_than": null}"#] {
        let problem = cancel(nothing).await.refuses(422, "bad_member");
        assert!(problem["detail"].as_str().unwrap().contains("at least one of"), "{problem}");
    }
    for (filter, member) in [
        (r#"{"state": "in_flight"}"#, "state"),
        (r#"{"caller": ""}"#, "caller"),
        (r#"{"older_than": "10"}"#, "older_than"),
        (r#"{"older_than": 10}"#, "older_than"),
        (r#"{"status": 500}"#, "status"),
    ] {
        assert_eq!(cancel(filter).await.refuses(422, "bad_member")["member"], member);
    }
    cancel("").await.refuses(400, "bad_json");
    assert_eq!(cancel(r#"{"caller": "nobody"}"#).await.json(), json!({"cancelled": 0}));
    assert_eq!(cancel(r#"{"state": "parked"}"#).await.json(), json!({"cancelled": 0}));
    let all = cancel(r#"{"state": "waiting", "older_than": "0s"}"#).await;
    assert_eq!((all.status.as_u16(), all.json()), (200, json!({"cancelled": 2})));
    for id in ids {
        assert_eq!(harness.get(&format!("/v1/buckets/b/jobs/{id}")).await.json()["outcome"]["reason"], "bulk cancel");
    }
    let trail = harness.get("/v1/buckets/b/audit").await.json();
    let last = &trail["items"][0];
    assert_eq!((&last["action"], &last["detail"]), (&json!("cancel"), &json!("2 jobs: waiting, older than 0s")));
}

#[tokio::test]
async fn only_waiting_and_parked_jobs_can_be_cancelled() {
    let harness = Harness::start().await;
    let cancel = async |id: &str| harness.ask(&format!("DELETE /v1/buckets/b/jobs/{id}"), &[], "").await;
    let waiting = harness.submit("x").await;
    for _ in 0..2 {
        assert_eq!(cancel(&waiting).await.status, 204);
    }
    let called = harness.submit("y").await;
    let replica = harness.replica().await;
    let taken = harness.take(&replica).await;
    cancel(&called).await.refuses(409, "in_flight");
    replica.settle(taken.claim, delivered(200, "text/plain", b"")).await.unwrap();
    cancel(&called).await.refuses(409, "job_ended");
    cancel("1-1").await.refuses(404, "unknown_job");
    cancel("x").await.refuses(404, "unknown_job");
}

#[tokio::test]
async fn cancelled_jobs_are_counted() {
    let harness = Harness::start().await;
    let cancelled = async || {
        let page = harness.get("/metrics").await;
        let page = String::from_utf8(page.body.to_vec()).unwrap();
        let counter = "dripfeed_jobs_settled_total{bucket=\"b\",outcome=\"cancelled\"} ";
        page.lines().find_map(|line| line.strip_prefix(counter)).map(str::to_owned)
    };
    let job = harness.submit("x").await;
    assert_eq!(cancelled().await, None);
    for _ in 0..2 {
        harness.ask(&format!("DELETE /v1/buckets/b/jobs/{job}"), &[], "").await;
    }
    assert_eq!(cancelled().await.as_deref(), Some("1"));
    for (operation, filter) in [("jobs/cancel", r#"{"state": "waiting"}"#), ("purge", "")] {
        harness.submit("x").await;
        harness.submit("y").await;
        harness.ask(&format!("POST /v1/buckets/b/{operation}"), &[], filter).await;
    }
    assert_eq!(cancelled().await.as_deref(), Some("5"));
}

#[tokio::test]
async fn settings_change_at_once_and_are_restored() {
    let harness = Harness::start().await;
    let patch = r#"{"capacity": 1, "capacity_bytes": "1MiB", "leak": {"burst": 5}, "pace": {"target": "10/s"}}"#;
    let bucket = harness.ask(PATCH, &[], patch).await;
    assert_eq!(bucket.status, 200, "{bucket:?}");
    let bucket = bucket.json();
    assert_eq!((&bucket["capacity"], &bucket["pace"]["target"]), (&json!(1), &json!("10/s")));
    assert_eq!(bucket["changes"]["capacity"], 1);
    assert_eq!(bucket["changes"]["leak"]["burst"], 5);
    harness.submit("x").await;
    harness.ask("POST /v1/buckets/b/jobs", &[], "y").await.refuses(429, "bucket_full");

    let back = r#"{"capacity": null, "capacity_bytes": null, "leak": {"rate": null, "burst": null}}"#;
    let bucket = harness.ask(PATCH, &[], back).await.json();
    assert_eq!((&bucket["capacity"], &bucket["pace"]["target"]), (&json!(10), &Value::Null));
    assert_eq!(bucket["changes"], json!({}));
    harness.submit("y").await;
}

#[tokio::test]
async fn pace_tiers_change_at_once_and_are_shown() {
    let harness = Harness::start().await;
    let day = json!([{ "kind": "fixed", "limit": 10000, "period": "1d" }]);
    let patch = json!({ "leak": { "rate": "10/s", "tiers": day } }).to_string();
    let bucket = harness.ask(PATCH, &[], patch).await.json();
    assert_eq!(bucket["pace"]["target"], "10/s, fixed 10000/24h");
    assert_eq!(bucket["changes"]["leak"]["tiers"], day);
    let back = harness.ask(PATCH, &[], r#"{"leak": {"tiers": null}}"#).await.json();
    assert_eq!((&back["pace"]["target"], &back["changes"]["leak"]), (&json!("10/s"), &json!({"rate": "10/s"})));
}

/// Or a paused caller would be called, and a weight have no effect.
#[tokio::test]
async fn fair_queuing_is_not_turned_off_under_the_limits_and_weights_of_callers() {
    let harness = Harness::start().await;
    let off = r#"{"fair": {"by": "off", "rate": "1/s", "flows": {"shop": {"paused": true}}}}"#;
    let problem = harness.ask(PATCH, &[], off).await.refuses(422, "bad_member");
    assert_eq!(problem["member"], "fair.by");
    for (limit, without) in [
        (r#"{"fair": {"flows": {"shop": {"paused": true}}}}"#, r#"{"fair": {"by": "off", "flows": null}}"#),
        (r#"{"fair": {"max_in_flight": 1}}"#, r#"{"fair": {"by": "off", "max_in_flight": null}}"#),
        (r#"{"fair": {"tiers": [{"rate": "1/s"}]}}"#, r#"{"fair": {"by": "off", "tiers": null}}"#),
        (r#"{"fair": {"weights": {"shop": 4}}}"#, r#"{"fair": {"by": "off", "weights": {}}}"#),
    ] {
        harness.ask(PATCH, &[], limit).await.json();
        harness.ask(PATCH, &[], r#"{"fair": {"by": "off"}}"#).await.refuses(422, "bad_member");
        harness.ask(PATCH, &[], without).await.json();
        harness.ask(PATCH, &[], limit).await.refuses(422, "bad_member");
        harness.ask(PATCH, &[], r#"{"fair": {"by": null}}"#).await.json();
    }
}

#[tokio::test]
async fn an_invalid_change_has_no_effect() {
    let harness = Harness::start().await;
    for patch in [
        r#"{"capacity": 0}"#,
        r#"{"capacity": 5, "leek": {}}"#,
        r#"{"capacity": 5, "leak": {"rate": "1/366d", "burst": 1000000000}}"#,
        "[]",
    ] {
        let problem = harness.ask(PATCH, &[], patch).await;
        problem.refuses(422, "bad_member");
    }
    let problem = harness.ask(PATCH, &[], r#"{"capacity": "5"}"#).await.refuses(422, "bad_member");
    assert_eq!(problem["detail"], "invalid type: string \"5\", expected a whole number, 0 or more");
    harness.ask(PATCH, &[], "capacity=5").await.refuses(400, "bad_json");
    harness.ask(PATCH, &[], "").await.refuses(400, "bad_json");
    harness.ask(PATCH, &[], vec![b' '; 70_000]).await.refuses(413, "body_too_large");
    assert_eq!(harness.get("/v1/buckets/b").await.json()["changes"], json!({}));
}

#[tokio::test]
async fn a_dry_run_refuses_what_a_change_would_and_changes_nothing() {
    const DRY: &str = "PATCH /v1/buckets/b?dry_run=true";
    let harness = Harness::start().await;
    for patch in [r#"{"capacity": 0}"#, r#"{"fair": {"by": "off", "rate": "1/s"}}"#, "[]"] {
        let (tried, changed) = (harness.ask(DRY, &[], patch).await, harness.ask(PATCH, &[], patch).await);
        assert_eq!(tried.refuses(422, "bad_member"), changed.refuses(422, "bad_member"));
    }
    let bucket = harness.ask(DRY, &[], r#"{"capacity": 5}"#).await;
    assert_eq!((bucket.status.as_u16(), &bucket.json()["capacity"]), (200, &json!(10)));
    assert_eq!(harness.get("/v1/buckets/b").await.json()["changes"], json!({}));
    assert_eq!(harness.get("/v1/buckets/b/audit").await.json()["items"], json!([]));
    harness.ask("PATCH /v1/buckets/b?dry_run=1", &[], r#"{"capacity": 5}"#).await.refuses(422, "bad_query");
}

#[tokio::test]
async fn a_quota_that_is_used_up_says_when_it_has_room_again() {
    let harness = Harness::start().await;
    let left = async || harness.get("/v1/buckets/b").await.json()["pace"]["used_up_for_ms"].clone();
    let replica = harness.replica().await;
    harness.ask(PATCH, &[], r#"{"leak": {"tiers": [{"kind": "fixed", "limit": 1, "period": "366d"}]}}"#).await.json();
    assert_eq!(left().await, Value::Null);
    harness.submit("x").await;
    harness.take(&replica).await;
    let left = left().await.as_u64().unwrap();
    assert!((1..=366 * 86_400_000).contains(&left), "{left}");
}

#[tokio::test]
async fn the_audit_log_has_what_each_setting_was_and_is() {
    let harness = Harness::start().await;
    let latest = async || harness.get("/v1/buckets/b/audit").await.json()["items"][0]["detail"].clone();
    harness.ask(PATCH, &[], r#"{"capacity": 7, "leak": {"rate": "10/s"}, "fair": {"weights": {"shop": 4}}}"#).await;
    let change = "capacity: 10 → 7, fair.weights: {} → {\"shop\":4}, leak.rate: none → 10/s";
    assert_eq!(latest().await, change);
    harness.ask(PATCH, &[], r#"{"capacity": null, "leak": {"rate": "5/s"}}"#).await;
    assert_eq!(latest().await, "capacity: 7 → 10 (as configured), leak.rate: 10/s → 5/s");

    // What stays as it was is no change.
    let entries = async || harness.get("/v1/buckets/b/audit").await.json()["items"].as_array().unwrap().len();
    let before = entries().await;
    for same in [r#"{"leak": {"rate": "5/s"}}"#, r#"{"capacity": null}"#, "{}"] {
        assert_eq!(harness.ask(PATCH, &[], same).await.status, 200, "{same}");
        assert_eq!(entries().await, before, "{same}: {}", latest().await);
    }
    harness.ask(PATCH, &[], r#"{"capacity": 8, "leak": {"rate": "5/s"}}"#).await;
    assert_eq!(latest().await, "capacity: 10 → 8");
}

#[tokio::test]
async fn each_run_time_setting_is_listed_with_its_value_and_the_configured_one() {
    let harness = Harness::start().await;
    for setting in &RUN_TIME_SETTINGS {
        let listed = async || {
            let list = harness.get("/v1/buckets/b/settings").await.json();
            let items = list["items"].as_array().expect("a list").clone();
            assert_eq!(items.len(), RUN_TIME_SETTINGS.len());
            items.into_iter().find(|item| item["name"] == setting.name).expect("the setting is listed")
        };
        let before = listed().await;
        assert_eq!((&before["value"], &before["changed"]), (&before["configured"], &json!(false)), "{before}");
        let mut patch = json!({});
        let example = serde_json::from_str(setting.example).unwrap_or_else(|_| json!(setting.example));
        setting.put(&mut patch, example);
        let bucket = harness.ask(PATCH, &[], patch.to_string()).await;
        assert_eq!(bucket.status, 200, "{bucket:?}");
        let after = listed().await;
        let changed = bucket.json()["changes"].pointer(&format!("/{}", setting.name.replace('.', "/"))).cloned();
        assert_eq!((Some(&after["value"]), &after["changed"]), (changed.as_ref(), &json!(true)), "{after}");
        assert_eq!(after["configured"], before["configured"]);
    }
}
