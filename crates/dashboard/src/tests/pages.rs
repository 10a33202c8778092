use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::routing::{get, post};
use axum::{Json, Router};
use dripfeed_job::redaction::Redaction;
use http::{StatusCode, Uri};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::{api, asked, bucket, over, redis, submitted, text};
use crate::model::bucket::Bucket;
use crate::parts::leak::Why;
use crate::parts::{attention, when};
use crate::{ApiPlace, Dashboard, SessionSecret};

#[test]
fn an_overflow_is_more_than_what_has_room() {
    let counted = Arc::new(AtomicUsize::new(0));
    let sent = Arc::clone(&counted);
    let batch = async move |Json(jobs): Json<Vec<Value>>| {
        assert!(jobs.len() <= 1000, "{} in one batch", jobs.len());
        counted.fetch_add(jobs.len(), Ordering::Relaxed);
        (StatusCode::TOO_MANY_REQUESTS, r#"{"title":"The bucket is full","detail":"d"}"#)
    };
    let bucket = bucket("b", 1500).to_string();
    let routes =
        Router::new().route("/v1/buckets/b", get(async move || bucket)).route("/v1/buckets/b/jobs/batch", post(batch));
    let secret = SessionSecret::new(|| vec![7; 16]);
    let page = Dashboard::new(api(&[]).merge(routes), ApiPlace::default(), secret, true, Redaction::default());
    let answer = submitted(&page, "/buckets/b/send", "count=overflow");
    assert_eq!((answer.status(), sent.load(Ordering::Relaxed)), (StatusCode::SEE_OTHER, 1550));
}

#[test]
fn all_pages_of_buckets_are_read() {
    let pages = async |uri: Uri| match uri.query() {
        None => json!({ "items": [bucket("one", 1)], "next": "one" }).to_string(),
        Some("cursor=one") => json!({ "items": [bucket("two", 1)], "next": null }).to_string(),
        Some(other) => other.to_owned(),
    };
    let log = json!({ "items": [], "next": null }).to_string();
    let log = async move || log;
    let routes = Router::new()
        .route("/v1/buckets", get(pages))
        .route("/v1/audit", get(log.clone()))
        .route("/v1/services/audit", get(log.clone()))
        .route("/v1/buckets/{bucket}/audit", get(log));
    let page = over(api(&[]).merge(routes));
    for path in ["/", "/redis", "/audit"] {
        let text = text(asked(&page, path));
        assert!(text.contains("one</") && text.contains("two</"), "{path}: {text}");
    }
}

#[test]
fn a_command_has_the_key_and_the_address_of_the_api() {
    let key = json!({ "id": "ops", "scopes": ["read"], "all_buckets": true });
    let routes = Router::new()
        .route("/v1/key", get(async move || key.to_string()))
        .route("/v1/services", get(async || json!({ "items": [], "next": null }).to_string()));
    let place = ApiPlace { has_tls: true, apart: Some("10.0.0.7:7180".parse().unwrap()) };
    let page = Dashboard::new(routes, place, SessionSecret::new(|| vec![7; 16]), false, Redaction::default());
    let page = text(asked(&page, "/services"));
    let command = "curl -X PUT https://10.0.0.7:7180/v1/services/shop/rules -H &quot;Dripfeed-Key: $KEY&quot; --json";
    assert!(page.contains(command), "{page}");
    for path in ["/docs/", "/openapi.json"] {
        assert!(page.contains(&format!("href=\"https://10.0.0.7:7180{path}\"")), "{path}: {page}");
    }
    assert!(!page.contains("/metrics"), "metrics need an API key, and a session isn't one: {page}");
}

#[test]
fn a_quota_that_is_used_up_says_until_when() {
    let mut used_up = bucket("b", 9);
    used_up["pace"] = json!({ "target": "2/h", "effective_per_s": 0.0, "reason": "used_up", "held_for_ms": null });
    let why = |state: &Value| Why::of(&serde_json::from_value::<Bucket>(state.clone()).unwrap()).text();
    assert_eq!(why(&used_up), "The quota is used up for now: 2/h.");
    used_up["pace"]["used_up_for_ms"] = 7_500_000.into();
    assert_eq!(why(&used_up), "The quota is used up for another 2 h 5 min: 2/h.");
}

#[test]
fn a_throttled_caller_says_until_when_and_a_paused_one_that_it_is() {
    let mut state = bucket("b", 9);
    (state["level"], state["waiting"]) = (2.into(), 2.into());
    let state = state.to_string();
    let items = ["shop", "soon", "mail"].map(|caller| json!({ "caller": caller, "jobs": 1, "bytes": 1 }));
    let holders = json!({ "items": items, "callers": 3, "limits": {}, "refused": [] });
    let soon = Timestamp::now().to_string();
    let flows = json!({ "items": [
        { "caller": "shop", "throttled_until": "2999-01-02T03:04:05Z" },
        { "caller": "soon", "throttled_until": soon },
        { "caller": "mail", "paused": true },
        { "caller": null },
    ] });
    let routes = Router::new()
        .route("/v1/buckets/b", get(async move || state))
        .route("/v1/buckets/b/holders", get(async move || holders.to_string()))
        .route("/v1/buckets/b/flows", get(async move || flows.to_string()));
    let page = text(asked(&over(api(&[]).merge(routes)), "/buckets/b"));
    assert_eq!(page.matches("throttled, next check at").count(), 1, "{page}");
    assert!(page.contains(">2999-01-02 03:04:05 UTC<"), "{page}");
    assert_eq!(page.matches("<span class=\"faint\">paused</span>").count(), 1, "{page}");
}

#[test]
fn an_exact_time_has_its_zone() {
    let time = when::ago("2026-11-23T14:03:20.5Z").into_string();
    assert!(time.contains("datetime=\"2026-11-23T14:03:20.5Z\" title=\"2026-11-23 14:03:20 UTC\""), "{time}");
    let of_another_day = when::clock("2026-01-02T03:04:05Z".parse().unwrap()).into_string();
    assert!(of_another_day.contains(">2026-01-02 03:04:05 UTC<"), "{of_another_day}");
}

#[test]
fn a_preview_shows_what_a_save_would_refuse() {
    let setting = json!({
        "name": "capacity", "description": "d", "example": "5", "value": 9, "configured": 9, "changed": false,
    });
    let refusing = async |uri: Uri| match uri.query() {
        Some("dry_run=true") => {
            (StatusCode::UNPROCESSABLE_ENTITY, r#"{"title":"Invalid value","detail":"capacity: give a number"}"#)
        }
        _ => (StatusCode::OK, "changed by a preview"),
    };
    let state = bucket("b", 9).to_string();
    let settings = json!({ "items": [setting], "next": null }).to_string();
    let routes = Router::new()
        .route("/v1/buckets/b", get(async move || state).patch(refusing))
        .route("/v1/buckets/b/settings", get(async move || settings));
    let page = text(asked(&over(api(&[]).merge(routes)), "/buckets/b/change?capacity=abc"));
    assert!(page.contains("Invalid value") && page.contains("capacity: give a number"), "{page}");
    assert!(!page.contains("Apply"), "{page}");
}

#[test]
fn where_no_bucket_can_be_read_one_line_says_so() {
    let names = ["a", "b", "c"].map(str::to_owned);
    let subjects = |names: &[String], is_any_read| -> Vec<String> {
        attention::of_all_unavailable(names, is_any_read).into_iter().map(|notice| notice.subject).collect()
    };
    assert_eq!(subjects(&names, false), ["Redis"]);
    assert_eq!(subjects(&names, true), ["a", "b", "c"]);
    assert_eq!(subjects(&names[..1], false), ["a"]);
}

#[test]
fn a_bucket_that_is_full_of_bytes_names_the_setting_that_bounds_them() {
    let notice = |level: u64, need: &str| {
        let mut bucket = bucket("b", 100);
        (bucket["level"], bucket["warnings"]) = (level.into(), json!([need]));
        bucket["replicas"] = json!([{ "consumer": "vm-1", "in_flight": 0 }]);
        let notices = attention::of_bucket(&serde_json::from_value::<Bucket>(bucket).unwrap().row());
        (notices[0].what.clone(), notices[0].what_to_do.clone())
    };
    for (level, need, what, setting) in [
        (95, "nearly_full", "95 % full", "leak.rate or capacity,"),
        (89, "nearly_full", "nearly full by its bytes", "leak.rate or capacity_bytes,"),
        (1, "refusing", "full, and refuses jobs with 429", "leak.rate or capacity_bytes,"),
    ] {
        let (said, to_do) = notice(level, need);
        assert!(said == what && to_do.contains(setting), "{level} {need}: {said} {to_do}");
    }
}

#[test]
fn settings_in_a_finding_about_redis_are_code() {
    let mut redis = redis(1);
    redis["servers"][0]["findings"][0]["what_to_do"] = json!("set `appendonly yes` in Redis");
    let notices = attention::of_redis(&serde_json::from_value(redis).unwrap());
    let list = attention::list(notices).into_string();
    assert!(list.contains("set <code>appendonly yes</code> in Redis"), "{list}");
}
