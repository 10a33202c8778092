use axum::Router;
use axum::routing::get;
use serde_json::{Value, json};

use super::{asked, over, permissions, redis, text};

const SCRIPT: &str = "<script>alert(1)</script>";

/// Each text of an answer is a script, but for the ids of keys and scopes.
fn scripted(mut answer: Value) -> Value {
    match &mut answer {
        Value::String(text) => SCRIPT.clone_into(text),
        Value::Array(items) => items.iter_mut().for_each(|item| *item = scripted(item.take())),
        Value::Object(members) => members.values_mut().for_each(|member| *member = scripted(member.take())),
        _ => {}
    }
    answer
}

fn list(item: &Value) -> Value {
    json!({ "items": [item], "next": null })
}

fn outcome() -> Value {
    json!({
        "result": "x", "reason": "x", "status": 500, "attempts": 2, "settled_at": "x", "body": "x",
        "content_type": "x", "truncated": true,
    })
}

fn payload() -> Value {
    let headers = json!([{ "name": "x", "value": "x" }]);
    json!({
        "content_type": "x", "body": "x", "body_base64": null, "truncated": false, "method": "x", "path": "x",
        "headers": headers,
    })
}

fn job(outcome: Option<&Value>) -> Value {
    let failed = json!({
        "attempt": 1, "started_at": "x", "took_ms": 1, "replica": "x", "status": 500, "reason": "x", "body": "x",
        "content_type": "x", "truncated": false,
    });
    json!({
        "id": "x", "state": "x", "attempts": 1, "accepted_at": "x", "due_at": "x", "caller": "x", "consumer": "x",
        "outcome": outcome, "failed_attempts": [failed], "replay_of": "x", "payload": payload(),
    })
}

fn letter() -> Value {
    let mut letter = payload();
    let own = json!({
        "id": "x", "accepted_at": "x", "died_at": "x", "caller": "x", "replay_of": "x", "outcome": outcome(),
    });
    letter.as_object_mut().unwrap().extend(own.as_object().unwrap().clone());
    letter
}

fn groups() -> Value {
    let group = json!({ "reason": "x", "status": 500, "letters": 2, "first_died_at": "x", "last_died_at": "x" });
    json!({ "items": [group], "others": 3, "next": "x" })
}

fn replay() -> Value {
    let filter = json!({ "reason": "x", "status": null, "caller": "x" });
    json!({
        "id": "x", "state": "x", "rate": "x", "filter": filter, "total": 1, "done": 0, "failed": 0, "gone": 0,
        "started_at": "x", "key": "x",
    })
}

fn services() -> Value {
    let verdicts = json!({ SCRIPT: { "allowed": 1, "refused": 1, "shadow_refused": 0, "unchecked": 0 } });
    list(&json!({ "name": "x", "verdicts": verdicts }))
}

fn rules() -> Value {
    let tier = json!({ "kind": "x", "rate": "x", "period": "x" });
    json!({ "policies": [{ "id": "x", "key": ["x"], "message": "x", "tiers": [tier] }] })
}

#[test]
fn every_text_of_the_api_is_text_on_every_page() {
    let answers = [
        ("/v1/buckets/{bucket}/jobs", list(&job(None))),
        ("/v1/buckets/{bucket}/jobs/live", job(None)),
        ("/v1/buckets/{bucket}/jobs/ended", job(Some(&outcome()))),
        ("/v1/buckets/{bucket}/dead", list(&letter())),
        ("/v1/buckets/{bucket}/dead/groups", groups()),
        ("/v1/buckets/{bucket}/dead/replays", list(&replay())),
        ("/v1/buckets/{bucket}/dead/one", letter()),
        ("/v1/services", services()),
        ("/v1/services/{service}/rules", rules()),
        ("/v1/redis", redis(1)),
    ];
    let mut routes = Router::new()
        .route("/v1/key", get(async || permissions().to_string()))
        .route("/v1/buckets", get(async || json!({ "items": [], "next": null }).to_string()));
    for (path, answer) in answers {
        let answer = scripted(answer).to_string();
        routes = routes.route(path, get(async move || answer));
    }
    let page = over(routes);
    for path in ["jobs", "jobs/live", "jobs/ended", "dead", "dead/one"].map(|path| format!("/buckets/b/{path}")) {
        is_text(&path, &text(asked(&page, &path)));
    }
    for path in ["/services", "/redis"] {
        is_text(path, &text(asked(&page, path)));
    }
}

#[test]
fn what_a_link_brings_is_text_too() {
    let list = json!({ "items": [], "next": null }).to_string();
    let groups = json!({ "items": [], "others": 0, "next": null }).to_string();
    let routes = Router::new()
        .route("/v1/key", get(async || permissions().to_string()))
        .route("/v1/buckets/b/jobs", get(async move || list.clone()))
        .route("/v1/buckets/b/dead", get(async || json!({ "items": [], "next": null }).to_string()))
        .route("/v1/buckets/b/dead/groups", get(async move || groups.clone()));
    let page = over(routes);
    let script = "%3Cscript%3Ealert(1)%3C%2Fscript%3E";
    for path in [
        format!("/buckets/b/jobs?caller={script}&older_than={script}&done=purged&count=1"),
        format!("/buckets/b/jobs?state={script}"),
        format!("/buckets/b/jobs?key={script}"),
        format!("/buckets/b/dead?reason={script}&status={script}&caller={script}&done=deleted&count=1"),
    ] {
        is_text(&path, &text(asked(&page, &path)));
    }
}

fn is_text(path: &str, page: &str) {
    assert!(!page.contains(SCRIPT), "{path}: {page}");
    assert!(page.contains("&lt;script&gt;alert(1)"), "{path} shows none of it: {page}");
}
