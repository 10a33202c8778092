use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use http::header::CACHE_CONTROL;
use http::{HeaderMap, StatusCode};
use parking_lot::Mutex;

use super::lists::page_of;
use super::{api, asked, bucket, over, submitted, text};

#[test]
fn what_was_changed_on_a_page_is_read_anew() {
    let ages = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&ages);
    let list = get(async move |headers: HeaderMap| {
        noted.lock().push(headers.contains_key(CACHE_CONTROL));
        page_of(&[bucket("b", 100)])
    });
    let pause = post(async || "{}");
    let routes = Router::new().route("/v1/buckets", list).route("/v1/buckets/b/pause", pause);
    let page = over(api(&[]).merge(routes));
    text(asked(&page, "/"));
    assert_eq!(submitted(&page, "/buckets/b/pause", "").status(), StatusCode::SEE_OTHER);
    text(asked(&page, "/"));
    assert_eq!(*ages.lock(), [true, false]);
}
