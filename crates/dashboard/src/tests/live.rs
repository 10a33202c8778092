use axum::routing::get;
use futures::executor::block_on;
use http::StatusCode;
use serde_json::json;

use super::{api, asked, frame, over, permissions, text};
use crate::live;
use crate::web::identity::Visitor;
use crate::web::session::SessionEnd;

#[test]
fn notices_about_redis_are_current() {
    let times = ["2026-11-23T14:03:00Z", "2026-11-23T14:03:09Z", "2026-11-23T14:03:10Z", "2026-11-23T14:03:21Z"];
    let page = over(api(&times.map(frame)));
    let events = text(asked(&page, "/live/buckets?of=0"));
    let shown: Vec<bool> = events.split_terminator("\n\n").map(|event| event.contains("finding")).collect();
    assert_eq!(shown, [true, false, true, true], "{events}");
    assert!(events.contains("finding 3") && !events.contains("finding 4"), "{events}");
}

#[test]
fn decisions_of_services_are_drawn_by_minute_until_there_are_other_services() {
    let slots = json!([
        { "at": "2026-11-23T14:00:00Z", "allowed": 4, "refused": 0, "shadow_refused": 0, "unchecked": 0 },
        { "at": "2026-11-23T14:02:00Z", "allowed": 1, "refused": 2, "shadow_refused": 0, "unchecked": 1 },
    ]);
    let history = json!({
        "service": "shop", "slot_ms": 60_000, "from": "2026-11-23T14:00:00Z", "to": "2026-11-23T14:03:30Z",
        "policies": { "each": slots },
    });
    let services = json!({ "items": [{ "name": "shop", "verdicts": {} }], "next": null });
    let rules = json!({ "policies": [{ "id": "each", "tiers": [] }, { "id": "idle", "tiers": [] }] });
    let answer = |value: serde_json::Value| get(async move || value.to_string());
    let routes = axum::Router::new()
        .route("/v1/services", answer(services))
        .route("/v1/services/shop/rules", answer(rules))
        .route("/v1/services/shop/history", answer(history));
    let page = over(api(&[frame("2026-11-23T14:03:30Z")]).merge(routes));

    let shown = text(asked(&page, "/services"));
    for part in [
        "data-live=\"/live/services?names=shop\"",
        "up to 4 allowed and 2 refused a minute",
        "class=\"a\" d=\"M0 1H150V63H300V32H450V63H600\"",
        "class=\"b\" d=\"M0 63H150H300V32H450V63H600\"",
        "no requests",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let same = text(asked(&page, "/live/services?names=shop"));
    assert!(same.contains("decisions-shop") && same.contains("event: frame"), "{same}");
    assert!(text(asked(&page, "/live/services?names=")).starts_with("event: reload"), "a service was registered");
}

#[test]
fn sums_are_of_all_buckets_where_a_frame_has_few_of_them() {
    let mut many = frame("2026-11-23T14:03:00Z");
    many["summary"] = json!({
        "buckets": 1001, "level": 7, "capacity": 9000, "dead": 5, "buckets_with_dead": 3, "paused": 0,
        "accepted_per_s": 1200.0, "refused_per_s": 34.0, "settled_per_s": 560.0,
    });
    let event = text(asked(&over(api(&[many])), "/live/buckets?of=1001"));
    for sum in ["1,200/s", "34/s", "560/s", "in 3 buckets"] {
        assert!(event.contains(sum), "{sum}: {event}");
    }
}

#[test]
fn a_refusal_is_an_event_of_its_kind() {
    for (status, title, event) in [
        (StatusCode::UNAUTHORIZED, "Unknown key", "event: signed-out\ndata:\n\n"),
        (StatusCode::TOO_MANY_REQUESTS, "Too many", "event: refused\ndata: \"Too many\"\n\n"),
    ] {
        let problem = format!(r#"{{"title":"{title}","detail":"d"}}"#);
        let refusal = get(async move || (status, problem));
        let routes = axum::Router::new().route("/v1/key", refusal.clone()).route("/v1/events", refusal);
        let answer = asked(&over(routes), "/live/buckets");
        assert_eq!((answer.status(), text(answer).as_str()), (StatusCode::OK, event));
    }
}

#[test]
fn what_cannot_be_served_now_is_tried_again() {
    let away = get(async || StatusCode::SERVICE_UNAVAILABLE);
    let page = over(axum::Router::new().route("/v1/key", away));
    for (path, refresh) in [("/live/buckets", Some("5")), ("/buckets/b", Some("5")), ("/sign-in", None)] {
        let answer = asked(&page, path);
        assert_eq!(answer.headers().get("refresh").map(|after| after.to_str().unwrap()), refresh, "{path}");
    }
}

#[test]
fn a_stream_that_ends_with_its_key_says_so() {
    let valid = || get(async || permissions().to_string());
    let revoked = || get(async || (StatusCode::UNAUTHORIZED, r#"{"title":"Unknown key","detail":"d"}"#));
    for (key, last) in [(revoked(), "event: signed-out\ndata:\n\n"), (valid(), "")] {
        let frames = format!("event: frame\ndata: {}\n\n", frame("2026-11-23T14:03:00Z"));
        let routes = axum::Router::new().route("/v1/key", key).route("/v1/events", get(async move || frames));
        let (page, visitor) = (over(routes), Visitor::default());
        let draw = |_| std::future::ready(Some(Vec::new()));
        let events = text(block_on(live::events(&page, &visitor, &[], draw)));
        let (_, after) = events.split_once("\n\n").unwrap();
        assert_eq!(after, last, "{events}");
    }
}

#[test]
fn a_stream_ends_with_its_session() {
    let page = over(api(&[frame("2026-11-23T14:03:00Z"), frame("2026-11-23T14:03:01Z")]));
    let events =
        |visitor: &Visitor| text(block_on(live::events(&page, visitor, &[], |_| std::future::ready(Some(Vec::new())))));
    let ended = Visitor { session_end: Some(SessionEnd(1)), ..Visitor::default() };
    assert_eq!(events(&ended), "event: signed-out\ndata:\n\n");
    let goes_on = Visitor { session_end: Some(SessionEnd(u64::MAX)), ..Visitor::default() };
    assert_eq!(events(&goes_on).matches("event: frame").count(), 2);
}
