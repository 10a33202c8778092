use std::collections::BTreeSet;
use std::time::Instant;

use futures::future::join_all;
use serde_json::Value;

use crate::harness::{Harness, LOG_ALL, delivered, settings};

#[tokio::test]
async fn every_operation_of_the_contract_is_described() {
    let harness = Harness::start().await;
    let api = harness.get("/openapi.json").await.json();
    assert_eq!(serde_json::to_value(dripfeed_intake::openapi()).unwrap(), api);
    let mut operations = BTreeSet::new();
    let mut ids = BTreeSet::new();
    for (path, item) in api["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            operations.insert(format!("{} {path}", method.to_uppercase()));
            assert!(ids.insert(operation["operationId"].as_str().unwrap().to_owned()), "{method} {path}");
            assert!(operation["summary"].is_string(), "{method} {path}");
        }
    }
    for call in [
        "POST /v1/buckets/{bucket}/jobs",
        "GET /v1/buckets/{bucket}/proxy/{path}",
        "DELETE /v1/buckets/{bucket}/proxy/{path}",
        "POST /v1/buckets/{bucket}/jobs/batch",
        "GET /v1/buckets/{bucket}/jobs/{id}",
        "GET /v1/buckets/{bucket}/jobs",
        "DELETE /v1/buckets/{bucket}/jobs/{id}",
        "POST /v1/buckets/{bucket}/jobs/cancel",
        "GET /v1/buckets",
        "GET /v1/buckets/{bucket}",
        "PATCH /v1/buckets/{bucket}",
        "POST /v1/buckets/{bucket}/pause",
        "POST /v1/buckets/{bucket}/resume",
        "POST /v1/buckets/{bucket}/purge",
        "GET /v1/buckets/{bucket}/dead",
        "GET /v1/buckets/{bucket}/dead/{id}",
        "DELETE /v1/buckets/{bucket}/dead/{id}",
        "POST /v1/buckets/{bucket}/dead/{id}/replay",
        "POST /v1/buckets/{bucket}/dead/replay",
        "DELETE /v1/buckets/{bucket}/dead",
        "POST /v1/buckets/{bucket}/dead/replays",
        "GET /v1/buckets/{bucket}/dead/replays",
        "GET /v1/buckets/{bucket}/dead/replays/{id}",
        "DELETE /v1/buckets/{bucket}/dead/replays/{id}",
        "GET /v1/buckets/{bucket}/outcomes",
        "GET /v1/buckets/{bucket}/report",
        "PUT /v1/services/{service}/rules",
        "GET /v1/services/{service}/rules",
        "DELETE /v1/services/{service}/rules",
        "POST /v1/services/{service}/check",
        "GET /v1/buckets/{bucket}/audit",
        "GET /v1/buckets/{bucket}/doctor",
        "GET /v1/buckets/{bucket}/flows",
        "GET /v1/buckets/{bucket}/history",
        "GET /v1/buckets/{bucket}/holders",
        "GET /v1/events",
        "GET /v1/key",
        "GET /v1/redis",
        "GET /v1/scale",
        "GET /v1/services",
        "GET /livez",
        "GET /readyz",
        "GET /metrics",
    ] {
        assert!(operations.contains(call), "{call} isn't described");
    }
}

#[tokio::test]
async fn every_reference_in_the_description_resolves() {
    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => {
                found.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
                members.values().for_each(|value| references(value, found));
            }
            Value::Array(values) => values.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
    let api = serde_json::to_value(dripfeed_intake::openapi()).unwrap();
    let mut found = BTreeSet::new();
    references(&api, &mut found);
    for reference in found {
        let pointer = reference.strip_prefix('#').unwrap();
        assert!(api.pointer(pointer).is_some(), "{reference}");
    }
}

#[tokio::test]
async fn the_api_explorer_loads_nothing_from_other_origins() {
    let harness = Harness::start().await;
    assert_eq!(harness.get("/docs").await.header("location"), Some("/docs/"));
    let page = harness.get("/docs/").await;
    assert_eq!(page.status, 200);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("script-src 'self';"), "{policy}");
    let html = String::from_utf8(page.body.to_vec()).unwrap();
    assert!(!html.contains("http://") && !html.contains("https://"), "{html}");
    for file in ["swagger-ui-bundle.js", "swagger-ui.css", "start.js"] {
        assert_eq!(harness.get(&format!("/docs/{file}")).await.status, 200, "{file}");
    }
    let index = harness.get("/").await;
    assert_eq!((index.status.as_u16(), index.header("content-type")), (200, Some("text/html; charset=utf-8")));
}

#[tokio::test]
async fn a_problems_type_is_a_page() {
    let harness = Harness::start().await;
    let page = harness.get("/problems/bucket_full").await;
    assert_eq!(page.status, 200);
    assert!(page.body.starts_with(b"bucket_full: "));
    harness.get("/problems/nope").await.refuses(404, "not_found");
}

#[tokio::test]
async fn metrics_show_submissions_and_bucket_states() {
    let harness = Harness::start().await;
    for _ in 0..10 {
        harness.submit("x").await;
    }
    harness.ask("POST /v1/buckets/b/jobs", &[], "full").await.refuses(429, "bucket_full");
    harness.ask("POST /v1/buckets/b/jobs", &[("dripfeed-x", "")], "bad").await.refuses(422, "bad_option");
    harness.settle(delivered(200, "text/plain", b"")).await;
    let answer = harness.get("/metrics").await;
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = String::from_utf8(answer.body.to_vec()).unwrap();
    let wanted = [("accept", "application/openmetrics-text;version=1.0.0,text/plain;q=0.5")];
    let openmetrics = harness.ask("GET /metrics", &wanted, "").await;
    let content_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(openmetrics.header("content-type"), Some(content_type));
    assert_eq!((answer.header("vary"), openmetrics.header("vary")), (Some("accept"), Some("accept")));
    let openmetrics = String::from_utf8(openmetrics.body.to_vec()).unwrap();
    assert!(openmetrics.ends_with("# EOF\n") && !text.contains("# EOF"), "{openmetrics}");
    assert!(openmetrics.contains("# TYPE dripfeed_jobs_accepted counter\n"), "{openmetrics}");
    assert!(text.contains("# TYPE dripfeed_jobs_accepted_total counter\n"), "{text}");
    for line in [
        r#"dripfeed_jobs_accepted_total{bucket="b"} 10"#,
        r#"dripfeed_jobs_refused_total{bucket="b",reason="bucket_full"} 1"#,
        r#"dripfeed_jobs_refused_total{bucket="b",reason="bad_option"} 1"#,
        r#"dripfeed_admit_duration_seconds_count{bucket="b"} 11"#,
        r#"dripfeed_bucket_level{bucket="b"} 9"#,
        r#"dripfeed_bucket_level{bucket="other"} 0"#,
        r#"dripfeed_bucket_capacity{bucket="b"} 10"#,
        r#"dripfeed_bucket_in_flight{bucket="b"} 0"#,
        r#"dripfeed_bucket_parked{bucket="b"} 0"#,
        r#"dripfeed_bucket_due_soon{bucket="b"} 0"#,
        r#"dripfeed_bucket_oldest_age_seconds{bucket="other"} 0"#,
        r#"dripfeed_dead_letters{bucket="b"} 0"#,
        "dripfeed_redis_up 1",
        "dripfeed_build_info{version=",
    ] {
        assert!(text.contains(line), "{line} is missing:\n{text}");
        assert!(openmetrics.contains(line), "{line} is missing:\n{openmetrics}");
    }
}

#[tokio::test]
async fn concurrent_scrapes_read_the_buckets_once() {
    let harness = Harness::with(vec![settings("b")], Vec::new(), &LOG_ALL).await;
    harness.get("/v1/buckets").await;
    let (begun, before) = (Instant::now(), harness.scripts_of_bucket().await.len());
    join_all((0..100).map(|_| harness.get("/metrics"))).await;
    let counted = harness.scripts_of_bucket().await.len() - before;
    // Once in a second, of which a busy machine takes some.
    let most = begun.elapsed().as_secs() + 1;
    assert!((1..=most).contains(&(counted as u64)), "{counted} scripts for 100 scrapes in {:?}", begun.elapsed());
}

#[tokio::test]
async fn during_the_drain_delay_an_intake_admits_and_is_not_ready() {
    let harness = Harness::start().await;
    assert_eq!(harness.get("/readyz").await.status, 200);
    harness.health.mark_not_ready();
    harness.get("/readyz").await.refuses(503, "draining");
    assert_eq!(harness.get("/livez").await.status, 200);
    let admitted = harness.ask("POST /v1/buckets/b/jobs", &[], "x").await;
    assert_eq!((admitted.status.as_u16(), admitted.header("connection")), (202, None));
}

#[tokio::test]
async fn a_stopping_intake_is_alive_and_not_ready() {
    let harness = Harness::start().await;
    assert_eq!(harness.get("/readyz").await.status, 200);
    harness.health.drain();
    let answer = harness.get("/readyz").await;
    answer.refuses(503, "draining");
    assert!(answer.header("retry-after").is_some());
    assert_eq!(harness.get("/livez").await.status, 200);
    let answer = harness.ask("POST /v1/buckets/b/jobs", &[], "x").await;
    answer.refuses(503, "draining");
    assert_eq!(answer.header("connection"), Some("close"));
    assert_eq!(harness.length("b").await, 0);
}

/// `make clients` generates them, apart from these tests.
/// All schemas within a document.
fn parts(document: &Value) -> Vec<&Value> {
    let below: Vec<&Value> = match document {
        Value::Object(members) => members.values().collect(),
        Value::Array(items) => items.iter().collect(),
        _ => return Vec::new(),
    };
    below.into_iter().flat_map(parts).chain([document]).collect()
}

const VERBS: [&str; 20] = [
    "cancel", "change", "check", "define", "delete", "edit", "examine", "get", "group", "list", "pause", "proxy",
    "purge", "put", "replay", "resume", "run", "start", "stream", "submit",
];

#[test]
fn generated_clients_have_readable_names() {
    let api = serde_json::to_value(dripfeed_intake::openapi()).unwrap();
    for (path, item) in api["paths"].as_object().unwrap().iter().filter(|(path, _)| path.starts_with("/v1/")) {
        for (method, operation) in item.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap();
            let is_named = id.split_once('_').is_some_and(|(verb, _)| VERBS.contains(&verb));
            assert!(is_named, "{method} {path} is called `{id}`: use a verb and what it is done to");
        }
    }
    // A word among several forms of a value has a schema with a name: otherwise its type is called `RateType2`.
    for part in parts(&api) {
        for form in ["oneOf", "anyOf"].iter().filter_map(|several| part[several].as_array()).flatten() {
            assert!(form["enum"].is_null(), "a word without a name: {part}");
        }
    }
}

#[test]
fn generators_of_clients_understand_the_description() {
    let api = serde_json::to_value(dripfeed_intake::openapi()).unwrap();
    let schemas = &api["components"]["schemas"];
    for (path, item) in api["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            for parameter in operation["parameters"].as_array().into_iter().flatten() {
                let is_time = parameter["schema"]["format"] == "date-time";
                assert!(parameter["in"] != "header" || !is_time, "{method} {path}: {parameter}");
            }
            let body = &operation["requestBody"]["content"];
            assert!(body["*/*"].is_null() || body["application/json"].is_object(), "{method} {path}: {body}");
        }
    }
    for (name, schema) in schemas.as_object().unwrap() {
        for part in schema["allOf"].as_array().into_iter().flatten() {
            let part = part["$ref"].as_str().and_then(|of| of.rsplit('/').next()).map_or(part, |of| &schemas[of]);
            assert!(part["oneOf"].is_null(), "{name} is all of several, one of which is a union: {part}");
        }
        if name.starts_with("List_") {
            let items = &schema["properties"]["items"]["items"];
            assert!(items["$ref"].is_string(), "{name} has items without a name: {items}");
        }
    }
    assert!(schemas["BatchItemResult"]["oneOf"].as_array().unwrap().iter().all(|item| item["$ref"].is_string()));
}
