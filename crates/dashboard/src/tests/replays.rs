//! Background replays on the page of dead letters.

use axum::Router;
use axum::routing::get;
use serde_json::{Value, json};

use super::lists::page_of;
use super::{api, asked, over, text};

#[test]
fn a_replay_says_which_letters_it_takes() {
    let replay = |filter: Value| {
        let replay = json!({ "id": "1", "state": "running", "rate": null, "filter": filter, "total": 1, "done": 0,
            "failed": 0, "gone": 0, "started_at": "2026-11-23T14:03:00Z", "key": null });
        let routes = Router::new()
            .route("/v1/buckets/b/dead", get(async || page_of(&[])))
            .route("/v1/buckets/b/dead/replays", get(async move || page_of(&[replay])));
        text(asked(&over(api(&[]).merge(routes)), "/buckets/b/dead"))
    };
    let all = json!({ "reason": null, "exact_reason": false, "status": null, "caller": null, "since": null,
        "until": null });
    for (member, value, said) in [
        ("since", json!("2026-01-02T03:04:05.5Z"), "died since <time"),
        ("until", json!("2026-01-02T03:04:05Z"), ">2026-01-02 03:04:05 UTC<"),
        ("exact_reason", json!(true), "no reason"),
        ("reason", json!("gone"), "a reason with “gone”"),
        ("caller", json!("shop"), "of shop"),
    ] {
        let mut filter = all.clone();
        filter[member] = value;
        let page = replay(filter);
        assert!(page.contains(said) && !page.contains("all dead letters"), "{member}: {page}");
    }
    assert!(replay(all).contains("all dead letters"));
}

#[test]
fn a_replay_that_is_done_is_shown_whole_though_others_took_some_letters() {
    let all = json!({ "reason": null, "status": null, "caller": null });
    let replay = json!({ "id": "1", "state": "done", "rate": null, "filter": all, "total": 68, "done": 15,
        "failed": 2, "gone": 51, "started_at": "2026-11-23T14:03:00Z", "key": null });
    let routes = Router::new()
        .route("/v1/buckets/b/dead", get(async || page_of(&[])))
        .route("/v1/buckets/b/dead/replays", get(async move || page_of(&[replay])));
    let page = text(asked(&over(api(&[]).merge(routes)), "/buckets/b/dead"));
    assert!(
        page.contains(r#"max="68" value="68""#) && page.contains("51 were replayed or deleted otherwise"),
        "{page}"
    );
    assert!(page.contains("2 left: their callers are at their share, or they are larger than the bucket"), "{page}");
}
