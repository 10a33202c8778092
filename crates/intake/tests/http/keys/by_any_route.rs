//! What a key lacks, it lacks at every operation that the API's description lists.

use std::time::Duration;

use dripfeed_auth::Scope;
use dripfeed_bucket::{FailedCall, Feedback, Settlement};
use dripfeed_job::outcome::AnswerBody;

use super::key;
use crate::harness::{Harness, delivered, settings};
use crate::origins::{described, operations};

const JOBS: &str = "POST /v1/buckets/b/jobs";
/// Of a job, a dead letter and a schedule that contain the word `secret` in body, path, headers and answers.
const WITH_PAYLOADS: [&str; 7] =
    ["jobs/{id}", "jobs?state=delivered", "jobs?state=dead", "outcomes", "dead", "dead/{id}", "schedules/{id}"];

#[tokio::test]
async fn without_inspect_no_payload_and_no_answer_leaves() {
    let keys = vec![
        key("sender", &[Scope::Submit], None),
        key("reader", &[Scope::Submit, Scope::Read, Scope::Operate, Scope::Define, Scope::Keys], None),
        key("inspector", &[Scope::Read, Scope::Inspect], None),
    ];
    let harness = Harness::with(vec![settings("b")], keys, &[]).await;
    let ids = ended_and_waiting(&harness).await;
    let mut lines: Vec<String> = ids.iter().flat_map(|id| operations(id)).collect();
    lines.retain(|line| line.starts_with("GET ") && !line.contains("/proxy") && !line.contains("/v1/events"));
    lines.extend(ids.iter().map(|id| format!("GET /v1/buckets/b/jobs/{id}?payload=true")));
    lines.extend(["jobs?redacted=true", "dead?redacted=true"].map(|list| format!("GET /v1/buckets/b/{list}")));
    for line in lines {
        let theirs = text(&harness, &line, "reader").await;
        assert!(!theirs.contains("secret") && !theirs.contains("c2VjcmV0"), "{line}: {theirs}");
    }
    for path in WITH_PAYLOADS {
        let of_each = ids.iter().map(|id| format!("GET /v1/buckets/b/{}", path.replace("{id}", id)));
        let mut whole = String::new();
        for line in of_each {
            whole += &text(&harness, &line, "inspector").await;
        }
        assert!(whole.contains("secret"), "{path}: {whole}");
    }
}

/// Makes jobs of every state, and a schedule; returns their ids.
async fn ended_and_waiting(harness: &Harness) -> Vec<String> {
    let fields = [("dripfeed-key", "sender"), ("dripfeed-path", "/secret"), ("dripfeed-forward-x", "secret")];
    let submit = async || {
        let accepted = harness.ask(JOBS, &fields, "a secret payload").await.json();
        accepted["id"].as_str().unwrap().to_owned()
    };
    let delivered_job = submit().await;
    harness.settle(delivered(200, "text/plain", b"a secret answer")).await;
    let dead_job = submit().await;
    let answer = AnswerBody::new(None, b"a secret answer", false);
    let failed = FailedCall { status: Some(500), reason: "no luck".to_owned(), answer: Some(answer.clone()) };
    let again = Settlement::Retry { after: Duration::ZERO };
    harness.settle_with(again, Feedback { failed: Some(failed), ..Feedback::default() }).await;
    let reason = "gone".to_owned();
    harness.settle(Settlement::Bury { reason, status: Some(410), answer: Some(answer), called: true }).await;
    let schedule = r#"{"every":"1h","job":{"body":"secret","options":{"path":"/secret","forward":{"x":"secret"}}}}"#;
    let defined = harness.ask("PUT /v1/buckets/b/schedules/nightly", &[("dripfeed-key", "reader")], schedule).await;
    assert_eq!(defined.status, 200, "{defined:?}");
    vec![delivered_job, dead_job, submit().await, "nightly".to_owned()]
}

async fn text(harness: &Harness, line: &str, key: &str) -> String {
    let answer = harness.ask(line, &[("dripfeed-key", key)], "").await;
    format!("{:?} {}", answer.headers, String::from_utf8_lossy(&answer.body))
}

/// What a key with every other scope may change: submissions and checks, and its own buckets and keys.
#[tokio::test]
async fn without_operate_no_operation_acts_on_a_bucket() {
    let all_but_operate = [Scope::Submit, Scope::Read, Scope::Inspect, Scope::Define, Scope::Keys];
    let harness = Harness::with(vec![settings("b")], vec![key("caller", &all_but_operate, None)], &[]).await;
    let allowed = |line: &str| {
        let is_submission = line.ends_with("/jobs") || line.ends_with("/jobs/batch") || line.contains("/proxy");
        let is_of_other_scope = line.contains("/v1/keys/") || line.ends_with("/v1/buckets/b");
        is_submission || line.ends_with("/check") || (is_of_other_scope && !line.starts_with("PATCH"))
    };
    for line in operations("1-1").iter().filter(|line| !line.starts_with("GET ") && !allowed(line)) {
        let refused = harness.ask(line, &[("dripfeed-key", "caller")], "{}").await.refuses(403, "forbidden");
        assert!(refused["detail"].as_str().unwrap().contains("`operate`"), "{line}: {refused}");
    }
}

#[tokio::test]
async fn each_operation_needs_the_scopes_that_its_description_names() {
    let without = |lacking: Scope| Scope::ALL.into_iter().filter(|scope| *scope != lacking).collect::<Vec<_>>();
    let mut keys = vec![key("operate submit", &[Scope::Operate, Scope::Submit], None), key("", &[], None)];
    for scope in Scope::ALL {
        keys.extend([
            key(scope.as_str(), &[scope], None),
            key(&format!("no {}", scope.as_str()), &without(scope), None),
        ]);
    }
    let harness = Harness::with(vec![settings("b")], keys, &[]).await;
    // A stream doesn't end, and an answer to HEAD has no body.
    let is_asked = |line: &str| !line.ends_with("/v1/events") && !line.starts_with("HEAD ");
    for (line, scopes) in described("1-1").iter().filter(|(line, _)| is_asked(line)) {
        let lacked = async |key: &str| {
            let answer = harness.ask(line, &[("dripfeed-key", key)], "{}").await;
            let text = String::from_utf8_lossy(&answer.body).into_owned();
            text.split_once("this key lacks the scope `").map(|(_, rest)| rest.split('`').next().unwrap().to_owned())
        };
        assert_eq!(lacked(&scopes.join(" ")).await, None, "{line}");
        for scope in scopes {
            assert_eq!(lacked(&format!("no {scope}")).await.as_ref(), Some(scope), "{line}");
        }
    }
}
