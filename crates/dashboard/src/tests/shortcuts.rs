use axum::routing::get;
use http::StatusCode;
use serde_json::json;

use super::{asked, over, text};

#[test]
fn keys_that_the_visitor_may_not_use_are_not_listed() {
    for (scopes, pauses) in [(["read", "inspect"], false), (["read", "operate"], true)] {
        let key = json!({ "id": "ops", "scopes": scopes, "all_buckets": true }).to_string();
        let routes = axum::Router::new()
            .route("/v1/key", get(async move || key))
            .route("/v1/services", get(async || json!({ "items": [], "next": null }).to_string()));
        let shown = text(asked(&over(routes), "/services"));
        assert!(shown.contains("<kbd>g</kbd>"), "{shown}");
        assert_eq!(shown.contains("<kbd>p</kbd>"), pauses, "{scopes:?}: {shown}");
    }
    let refused = over(axum::Router::new().route("/v1/key", get(async || StatusCode::SERVICE_UNAVAILABLE)));
    assert!(!text(asked(&refused, "/services")).contains("<kbd>p</kbd>"));
}

#[test]
fn a_section_that_the_visitor_may_not_see_is_not_linked() {
    for all_buckets in [true, false] {
        let key = json!({ "id": "ops", "scopes": ["read"], "all_buckets": all_buckets }).to_string();
        let routes = axum::Router::new()
            .route("/v1/key", get(async move || key))
            .route("/v1/services", get(async || json!({ "items": [], "next": null }).to_string()));
        let shown = text(asked(&over(routes), "/services"));
        assert!(shown.contains(r#"href="/audit""#), "{shown}");
        assert_eq!(shown.contains(r#"href="/redis""#), all_buckets, "{shown}");
    }
}
