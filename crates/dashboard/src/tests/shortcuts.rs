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
