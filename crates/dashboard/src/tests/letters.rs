use axum::Router;
use axum::routing::get;
use http::StatusCode;
use http::header::LOCATION;
use serde_json::{Value, json};

use super::lists::job;
use super::{api, asked, over, text};

const ID: &str = "1700000000000-0";

fn outcome() -> Value {
    json!({ "result": "dead", "reason": "gone", "status": 410, "attempts": 2, "settled_at": "2026-11-23T14:01:00Z" })
}

fn letter() -> Value {
    json!({
        "id": ID, "accepted_at": "2026-11-23T14:00:00Z", "died_at": "2026-11-23T14:01:00Z", "caller": null,
        "content_type": "text/plain", "body": "x", "method": null, "path": null, "headers": [], "outcome": outcome(),
    })
}

/// An API that has these of one dead job.
fn with(job: Option<Value>, letter: Option<Value>) -> Router {
    let answer = |found: Option<Value>| {
        let unknown = (StatusCode::NOT_FOUND, r#"{"title":"Unknown job","detail":"d"}"#.to_owned());
        get(async move || found.map_or(unknown, |found| (StatusCode::OK, found.to_string())))
    };
    api(&[])
        .route(&format!("/v1/buckets/b/jobs/{ID}"), answer(job))
        .route(&format!("/v1/buckets/b/dead/{ID}"), answer(letter))
}

#[test]
fn a_dead_letter_leads_to_its_timeline_while_there_is_one() {
    let path = format!("/buckets/b/dead/{ID}");
    let kept = text(asked(&over(with(Some(job("dead", 2, &outcome())), Some(letter()))), &path));
    assert!(kept.contains(&format!("<a href=\"/buckets/b/jobs/{ID}\">2, in its timeline</a>")), "{kept}");
    let expired = text(asked(&over(with(None, Some(letter()))), &path));
    assert!(expired.contains("<dt>attempts</dt><dd>2</dd>") && !expired.contains("in its timeline"), "{expired}");
}

#[test]
fn a_job_of_which_only_the_dead_letter_is_left_leads_to_that() {
    let path = format!("/buckets/b/jobs/{ID}");
    let moved = asked(&over(with(None, Some(letter()))), &path);
    assert_eq!(moved.status(), StatusCode::SEE_OTHER);
    assert_eq!(moved.headers()[LOCATION], format!("/buckets/b/dead/{ID}"));
    assert_eq!(asked(&over(with(None, None)), &path).status(), StatusCode::NOT_FOUND);
}

#[test]
fn a_dead_job_leads_to_its_letter_while_there_is_one() {
    let path = format!("/buckets/b/jobs/{ID}");
    for (letter, leads) in [(Some(letter()), true), (None, false)] {
        let shown = text(asked(&over(with(Some(job("dead", 2, &outcome())), letter)), &path));
        assert!(shown.contains("id=\"timeline\""), "{shown}");
        assert_eq!(shown.contains(&format!("href=\"/buckets/b/dead/{ID}\"")), leads, "{shown}");
    }
}
