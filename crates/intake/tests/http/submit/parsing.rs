//! One caller's request doesn't slow the others: its parts are limited in number, and a large request is parsed on a
//! separate thread.

use std::fmt::Write as _;
use std::sync::mpsc::{self, Sender};
use std::thread::available_parallelism;

use dripfeed_bucket::{BucketLimits, parse};
use dripfeed_intake::IntakeSettings;
use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::task::JoinHandle;

use crate::harness::{Harness, ask, intake_settings, request};

const BATCH: &str = "POST /v1/buckets/b/jobs/batch";
const JSON: (&str, &str) = ("content-type", "application/json");
const YAML: (&str, &str) = ("content-type", "application/yaml");

/// `"a0":1,"a1":1,…`
fn members(many: usize, value: &str) -> String {
    let mut members = String::new();
    for n in 0..many {
        let comma = if n == 0 { "" } else { "," };
        write!(members, "{comma}\"a{n}\":{value}").unwrap();
    }
    members
}

async fn problem_of_item(harness: &Harness, item: String) -> Value {
    let answer = harness.ask(BATCH, &[JSON], format!("[{item}]")).await;
    assert_eq!(answer.status, 422, "{answer:?}");
    answer.json()["items"][0]["problem"].clone()
}

#[tokio::test]
async fn an_item_has_a_bounded_number_of_options_and_forwarded_headers() {
    let harness = Harness::start().await;
    let options = |many| format!(r#"{{"body":1,"options":{{{}}}}}"#, members(many, "1"));
    let within = problem_of_item(&harness, options(64)).await;
    assert_eq!((&within["code"], within["options"].as_array().unwrap().len()), (&json!("bad_option"), 64));
    for many in [65, 5_000] {
        let beyond = problem_of_item(&harness, options(many)).await;
        assert_eq!(beyond["code"], "bad_item");
        assert!(beyond["detail"].as_str().unwrap().contains("more than 64 members"), "{beyond}");
        // Where reading stopped: it didn't go on to the end.
        assert!(beyond["column"].as_u64().unwrap() < 1_000, "{beyond}");
    }
    let forward = |many| format!(r#"{{"body":1,"options":{{"forward":{{{}}}}}}}"#, members(many, "\"v\""));
    for many in [65, 5_000] {
        let beyond = problem_of_item(&harness, forward(many)).await;
        assert_eq!((&beyond["code"], beyond["options"].as_array().unwrap().len()), (&json!("bad_option"), 1));
        assert!(beyond["options"][0]["reason"].as_str().unwrap().contains("more than 64 members"), "{beyond}");
    }
}

#[tokio::test]
async fn refused_input_is_repeated_shortened() {
    let harness = Harness::start().await;
    let long = "x".repeat(20_000);
    for item in [
        format!(r#"{{"body":1,"options":{{"{long}":1}}}}"#),
        format!(r#"{{"body":1,"options":{{"{long}":1,"{long}":1}}}}"#),
        format!(r#"{{"body":1,"options":{{"forward":{{"{long}":"é"}}}}}}"#),
        format!(r#"{{"body":1,"options":{{"method":"{long}"}}}}"#),
        format!(r#"{{"body":1,"{long}":1}}"#),
    ] {
        let problem = problem_of_item(&harness, item).await.to_string();
        assert!(problem.len() < 3_000, "{} bytes: {problem}", problem.len());
    }
}

#[tokio::test]
async fn a_check_has_a_bounded_number_of_headers() {
    let harness = Harness::start().await;
    let rules = r#"{"policies":[{"id":"a","tiers":[{"kind":"gate","period":"1s"}]}]}"#;
    assert_eq!(harness.ask("PUT /v1/services/s/rules", &[JSON], rules).await.status, 200);
    for many in [129, 5_000] {
        let body = format!(r#"{{"headers":{{{}}}}}"#, members(many, "\"v\""));
        let problem = harness.ask("POST /v1/services/s/check", &[JSON], body).await.refuses(422, "bad_member");
        assert!(problem["detail"].as_str().unwrap().contains("128"), "{problem}");
    }
}

#[tokio::test]
async fn a_check_is_no_larger_than_the_head_of_a_request() {
    let harness = Harness::start().await;
    let rules = r#"{"policies":[{"id":"a","tiers":[{"kind":"bucket","rate":"100/s"}]}]}"#;
    assert_eq!(harness.ask("PUT /v1/services/s/rules", &[JSON], rules).await.status, 200);
    let text = |bytes: usize| "x".repeat(bytes);
    let check = async |check: Value| harness.ask("POST /v1/services/s/check", &[JSON], check.to_string()).await;
    let parts = |bytes| json!({"path": text(bytes), "caller": text(bytes), "headers": {"a": text(bytes - 1)}});
    assert_eq!(check(parts(32 * 1024 / 3)).await.status, 200);
    for larger in [
        parts(32 * 1024 / 3 + 1),
        json!({"method": text(33 * 1024)}),
        json!({"path": text(33 * 1024)}),
        json!({"caller": text(33 * 1024)}),
        json!({"tenant": text(33 * 1024)}),
        json!({"headers": {"a": text(33 * 1024)}}),
    ] {
        let problem = check(larger).await.refuses(422, "bad_member");
        assert!(problem["detail"].as_str().unwrap().contains("32768 bytes"), "{problem}");
    }
}

#[tokio::test]
async fn rules_have_a_bounded_number_of_parts() {
    let harness = Harness::start().await;
    let policy = |more: Value| {
        let mut policy = json!({"id": "a", "tiers": [{"kind": "gate", "period": "1s"}]});
        policy.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        policy
    };
    let variables = (0..5_000).fold(String::new(), |path, n| path + &format!("/{{v{n}}}"));
    let cases = [
        (json!(vec![json!({}); 5_000]), "policies", "100"),
        (json!([policy(json!({"match": {"path": variables}}))]), "policies[0].match", "64"),
        (json!([policy(json!({"match": {"methods": vec!["GET"; 5_000]}}))]), "policies[0].match", "32"),
        (json!([policy(json!({"key": vec!["nobody"; 5_000]}))]), "policies[0].key", "16"),
        (json!([policy(json!({"tiers": vec![json!({"kind": "none"}); 1_000]}))]), "policies[0].tiers", "16"),
    ];
    for (policies, place, bound) in cases {
        let one_fault = |problem: Value, place: &str| {
            let faults = problem["faults"].as_array().unwrap().clone();
            assert_eq!((faults.len(), &faults[0]["place"]), (1, &json!(place)), "{problem}");
            assert!(faults[0]["reason"].as_str().unwrap().contains(bound), "{problem}");
        };
        let body = json!({"policies": policies}).to_string();
        one_fault(harness.ask("PUT /v1/services/s/rules", &[JSON], body).await.refuses(422, "bad_member"), place);
        let body = json!({"limits": policies}).to_string();
        let refused = harness.ask("PATCH /v1/buckets/b", &[JSON], body).await.refuses(422, "bad_member");
        one_fault(refused, &place.replacen("policies", "limits", 1));
    }
    let tiers = json!({"leak": {"tiers": vec![json!({"kind": "none"}); 3_000]}}).to_string();
    let problem = harness.ask("PATCH /v1/buckets/b", &[JSON], tiers).await.refuses(422, "bad_member");
    assert_eq!(problem["member"], "leak.tiers");
}

#[tokio::test]
async fn deep_nesting_is_refused_everywhere() {
    let harness = Harness::start().await;
    let deep = format!("{}{}", "[".repeat(30_000), "]".repeat(30_000));
    for (line, kind, body) in [
        ("PUT /v1/services/s/rules", JSON, format!(r#"{{"policies":{deep}}}"#)),
        ("PUT /v1/services/s/rules", YAML, format!("policies: {deep}")),
        ("POST /v1/services/s/check", JSON, format!(r#"{{"headers":{deep}}}"#)),
        ("PATCH /v1/buckets/b", JSON, format!(r#"{{"limits":{deep}}}"#)),
        ("POST /v1/buckets/b/dead/replay", JSON, format!(r#"{{"reason":{deep}}}"#)),
        (BATCH, JSON, format!(r#"[{{"options":{deep}}}]"#)),
    ] {
        let answer = harness.ask(line, &[kind], body).await;
        assert!(answer.status.is_client_error(), "{line}: {answer:?}");
    }
}

/// On each of them something of its size waits until all that is returned first is dropped.
fn hold_parsers() -> (Vec<Sender<()>>, Vec<JoinHandle<()>>) {
    let places = available_parallelism().unwrap().get() / 2;
    let hold = |_| {
        let (release, held) = mpsc::channel::<()>();
        let holding = async { assert!(parse(1 << 20, move || held.recv()).await.unwrap().is_err()) };
        (release, tokio::spawn(holding))
    };
    (0..places.max(1)).map(hold).unzip()
}

/// While all threads for large requests are busy, small requests are served and large ones wait.
#[test]
fn the_intake_answers_others_while_a_large_request_is_parsed() {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let harness = Harness::start().await;
        let by_field = json!({"id": "each", "key": ["field:/a"], "tiers": [{"kind": "bucket", "rate": "100/s"}]});
        harness.bucket("other").set_limits(&BucketLimits::read("limits", vec![by_field]).unwrap());
        let rules = r#"{"policies":[{"id":"a","tiers":[{"kind":"bucket","rate":"100/s"}]}]}"#;
        assert_eq!(harness.ask("PUT /v1/services/s/rules", &[JSON], rules).await.status, 200);
        let (intake, _) = harness.intake(IntakeSettings { max_body: 1 << 20, ..intake_settings() }).await;
        let padding = " ".repeat(70_000);
        for (line, kind, body, status) in [
            (BATCH, JSON, r#"[{"body":1}]"#, 202),
            ("PUT /v1/services/s/rules", JSON, rules, 200),
            ("PUT /v1/services/s/rules", YAML, rules, 200),
            ("POST /v1/services/s/check", JSON, "{}", 200),
            ("PUT /v1/buckets/b/schedules/s", JSON, r#"{"every":"366d","job":{"body":1}}"#, 200),
            ("PATCH /v1/buckets/b", JSON, "{}", 200),
            ("POST /v1/buckets/b/dead/replay", JSON, "{}", 200),
            ("POST /v1/buckets/other/jobs", JSON, r#"{"a":1}"#, 202),
            ("POST /v1/buckets/other/jobs/batch", JSON, r#"[{"body":{"a":1}}]"#, 202),
        ] {
            let (release, holding) = hold_parsers();
            let large = tokio::spawn(ask(intake.entry_point(), request(line, &[kind], format!("{padding}{body}"))));
            for _ in 0..10 {
                assert_eq!(ask(intake.entry_point(), request("GET /livez", &[], "")).await.status, 200);
                let small = ask(intake.entry_point(), request("GET /v1/buckets/b", &[], "")).await;
                assert_eq!(small.status, 200, "{small:?}");
            }
            assert!(!large.is_finished(), "{line} was parsed on the thread that answers others");
            drop(release);
            for held in holding {
                held.await.unwrap();
            }
            let answer = large.await.unwrap();
            assert_eq!(answer.status, status, "{line}: {answer:?}");
        }
    });
}
