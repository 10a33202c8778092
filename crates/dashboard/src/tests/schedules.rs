use axum::Router;
use axum::routing::{get, post};
use http::StatusCode;
use http::header::LOCATION;
use serde_json::json;

use super::{api, asked, bucket, over, submitted, text};

#[test]
fn schedules_are_shown_with_what_keeps_them_from_running() {
    let schedule = |id: &str, paused: bool, may: bool, refused: Option<&str>| {
        json!({
            "id": id, "caller": "shop", "caller_may_submit": may, "cron": "0 3 * * *", "zone": "Europe/Berlin",
            "every": null, "paused": paused, "next_at": "2030-01-01T03:00:00Z", "last_at": "2026-01-01T03:00:00Z",
            "last_job": "1700000000000-0", "missed_ticks": 1200, "overlapped_ticks": 3, "refused": refused,
        })
    };
    let items = [
        schedule("nightly", false, true, Some("bucket_full")),
        schedule("off", true, true, None),
        schedule("orphan", false, false, None),
    ];
    let list = json!({ "items": items, "next": null }).to_string();
    let state = bucket("b", 9).to_string();
    let routes = Router::new()
        .route("/v1/buckets/b", get(async move || state))
        .route("/v1/buckets/b/schedules", get(async move || list));
    let page = text(asked(&over(api(&[]).merge(routes)), "/buckets/b"));
    for part in [
        "<code>0 3 * * *</code> Europe/Berlin",
        "href=\"/buckets/b/jobs/1700000000000-0\"",
        "1,200",
        "refused: bucket_full",
        "‖ paused",
        "may no longer submit",
        "action=\"/buckets/b/schedules/nightly/pause\"",
        "action=\"/buckets/b/schedules/off/resume\"",
        "action=\"/buckets/b/schedules/nightly/run\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn a_schedule_is_paused_resumed_and_run() {
    let switched = || post(async || "{}");
    let run = post(async || (StatusCode::ACCEPTED, json!({ "id": "1700000000000-0" }).to_string()));
    let routes = Router::new()
        .route("/v1/buckets/b/schedules/nightly/pause", switched())
        .route("/v1/buckets/b/schedules/nightly/resume", switched())
        .route("/v1/buckets/b/schedules/nightly/run", run);
    let page = over(api(&[]).merge(routes));
    for (verb, next) in [
        ("pause", "/buckets/b?done=schedule-paused"),
        ("resume", "/buckets/b?done=schedule-resumed"),
        ("run", "/buckets/b/jobs/1700000000000-0?done=run"),
    ] {
        let answer = submitted(&page, &format!("/buckets/b/schedules/nightly/{verb}"), "");
        assert_eq!((answer.status(), answer.headers()[LOCATION].to_str().unwrap()), (StatusCode::SEE_OTHER, next));
    }
    assert_eq!(submitted(&page, "/buckets/b/schedules/nightly/delete", "").status(), StatusCode::NOT_FOUND);
}
