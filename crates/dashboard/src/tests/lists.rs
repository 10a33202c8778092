use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::routing::get;
use http::{StatusCode, Uri};
use serde_json::{Value, json};

use super::{api, asked, bucket, frame, over, text};

/// Of a second, with a bucket of this level.
pub(super) fn frame_of(second: u64, level: u64) -> Value {
    let mut of = frame(&format!("2026-11-23T14:03:{second:02}Z"));
    let mut state = bucket("b", 100);
    state["level"] = level.into();
    of["states"] = json!([state]);
    of
}

pub(super) fn job(state: &str, attempts: u64, outcome: &Value) -> Value {
    json!({
        "id": "1700000000000-0", "state": state, "attempts": attempts, "accepted_at": "2026-11-23T14:00:00Z",
        "due_at": null, "caller": null, "consumer": null, "outcome": outcome, "replay_of": null, "payload": null,
    })
}

pub(super) fn page_of(items: &[Value]) -> String {
    json!({ "items": items, "next": null }).to_string()
}

/// Counts how often it is asked.
fn counted(answer: String) -> (axum::routing::MethodRouter, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let route = get(async move || {
        count.fetch_add(1, Ordering::Relaxed);
        answer
    });
    (route, asked)
}

/// Which of the events brings the part.
fn events_with(events: &str, part: &str) -> Vec<usize> {
    let part = format!("[\"{part}\",");
    let events = events.split_terminator("\n\n").enumerate();
    events.filter(|(_, event)| event.contains(&part)).map(|(at, _)| at).collect()
}

#[test]
fn a_list_is_read_again_when_counts_have_changed() {
    let frames = [frame_of(0, 1), frame_of(1, 1), frame_of(2, 2), frame_of(3, 2), frame_of(13, 2)];
    let (jobs, asked_for_jobs) = counted(page_of(&[job("waiting", 0, &Value::Null)]));
    let (letters, asked_for_letters) = counted(page_of(&[]));
    let (callers, asked_for_callers) =
        counted(json!({ "items": [], "callers": 0, "limits": {}, "refused": [] }).to_string());
    let routes = Router::new()
        .route("/v1/buckets/b/jobs", jobs)
        .route("/v1/buckets/b/dead", letters)
        .route("/v1/buckets/b/holders", callers);
    let page = over(api(&frames).merge(routes));
    for (path, count) in [
        ("/live/buckets/b/jobs?state=waiting", asked_for_jobs),
        ("/live/buckets/b/dead", asked_for_letters),
        ("/live/buckets/b", asked_for_callers),
    ] {
        let events = text(asked(&page, path));
        assert_eq!(count.load(Ordering::Relaxed), 3, "{path}: {events}");
    }
    // The same list isn't sent again.
    assert_eq!(events_with(&text(asked(&page, "/live/buckets/b/jobs")), "jobs"), [0]);
}

#[test]
fn an_audit_log_is_read_again_after_ten_seconds() {
    let frames = [0, 1, 2, 9, 12].map(|second| frame_of(second, 1));
    let (log, asked_for_log) = counted(page_of(&[]));
    let events = text(asked(&over(api(&frames).route("/v1/buckets/b/audit", log)), "/live/buckets/b"));
    // With the first two frames and the last.
    assert_eq!(asked_for_log.load(Ordering::Relaxed), 3, "{events}");
}

#[test]
fn a_page_says_which_part_of_the_list_it_is() {
    let answer = async |uri: Uri| {
        let query = uri.query().unwrap_or_default();
        let next = (!query.contains("caller=last")).then_some("c");
        json!({ "items": [job("waiting", 0, &Value::Null), job("waiting", 0, &Value::Null)], "next": next }).to_string()
    };
    let page = over(api(&[]).route("/v1/buckets/b/jobs", get(answer)));
    for (query, shown) in [
        ("state=waiting", "the first 2 jobs"),
        ("state=waiting&cursor=c", "2 more jobs"),
        ("caller=last", "2 jobs"),
        ("caller=last&cursor=c", "2 more jobs"),
    ] {
        let text = text(asked(&page, &format!("/buckets/b/jobs?{query}")));
        assert!(text.contains(&format!("<span>{shown}</span>")), "{query}: {text}");
    }
}

#[test]
fn a_page_of_a_bucket_that_is_gone_is_loaded_again() {
    let mut away = frame("2026-11-23T14:03:00Z");
    away["unavailable"] = json!(["b"]);
    let page = over(api(&[away, frame("2026-11-23T14:03:01Z")]));
    for path in ["/live/buckets/b/jobs", "/live/buckets/b/dead"] {
        let events = text(asked(&page, path));
        let kinds: Vec<&str> = events.lines().filter_map(|line| line.strip_prefix("event: ")).collect();
        assert_eq!(kinds, ["frame", "reload"], "{path}: {events}");
    }
}

#[test]
fn a_job_is_followed_until_it_ends() {
    let outcome = json!({ "result": "delivered", "reason": null, "status": 200, "attempts": 2,
        "settled_at": "2026-11-23T14:04:00Z", "body": "thanks" });
    let states = [
        job("waiting", 0, &Value::Null),
        job("waiting", 0, &Value::Null),
        job("in_flight", 1, &Value::Null),
        job("delivered", 2, &outcome),
        job("delivered", 3, &outcome),
    ];
    let number = Arc::new(AtomicUsize::new(0));
    let next = async move || states[number.fetch_add(1, Ordering::Relaxed)].to_string();
    let frames: Vec<Value> = (0..5).map(|second| frame_of(second, 1)).collect();
    let page = over(api(&frames).route("/v1/buckets/b/jobs/{id}", get(next)));
    let events = text(asked(&page, "/live/buckets/b/jobs/1700000000000-0"));
    assert_eq!(events_with(&events, "timeline"), [0, 2, 3], "{events}");
    assert_eq!(events_with(&events, "job-content"), [3], "{events}");
    assert!(events.contains("in flight") && events.contains("thanks"), "{events}");
}

#[test]
fn the_page_of_a_job_that_is_not_known_any_more_is_loaded_again() {
    let gone = get(async || (StatusCode::NOT_FOUND, r#"{"title":"t","detail":"d"}"#));
    let page = over(api(&[frame_of(0, 1)]).route("/v1/buckets/b/jobs/{id}", gone));
    assert_eq!(text(asked(&page, "/live/buckets/b/jobs/1-0")), "event: reload\ndata:\n\n");
}

#[test]
fn a_bucket_that_can_not_be_read_shows_no_numbers_of_before() {
    let mut there = frame("2026-11-23T14:03:00Z");
    there["states"] = json!([bucket("b", 100)]);
    let mut away = frame("2026-11-23T14:03:01Z");
    away["unavailable"] = json!(["b"]);
    let events = text(asked(&over(api(&[there, away])), "/live/buckets/b"));
    let (before, after) = events.split_once("14:03:01").unwrap();
    assert!(before.contains(r#""unread":false"#) && after.contains(r#""unread":true"#), "{events}");
    assert!(before.contains("of 100") && !before.contains("unavailable"), "{before}");
    assert!(after.contains("overview") && after.contains("unavailable") && !after.contains("of 100"), "{after}");
}

#[test]
fn who_finds_no_job_with_a_key_sees_whose_keys_were_searched() {
    let found = |id: &Value, scopes: &[&str], query: &str| {
        let who = json!({ "id": id, "scopes": scopes, "all_buckets": true }).to_string();
        let api = Router::new().route("/v1/key", get(async move || who));
        let page = over(api.route("/v1/buckets/b/jobs", get(async || page_of(&[]))));
        text(asked(&page, &format!("/buckets/b/jobs?key=order-17{query}")))
    };
    let (ops, operator) = (json!("ops"), ["read", "operate"]);
    let own = found(&ops, &operator, "");
    assert!(own.contains("No job of ops has this idempotency key. Each caller has separate keys"), "{own}");
    let of_shop = found(&ops, &operator, "&caller=shop");
    assert!(of_shop.contains("No job of shop has this idempotency key.</p>"), "{of_shop}");
    assert!(found(&ops, &["read"], "").contains("No job of ops has this idempotency key.</p>"));
    assert!(found(&Value::Null, &operator, "").contains("No job has this idempotency key.</p>"));
}
