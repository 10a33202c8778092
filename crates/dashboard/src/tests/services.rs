use axum::Router;
use axum::routing::{get, post};
use http::StatusCode;
use serde_json::json;

use super::{api, asked, over, submitted, text};

#[test]
fn a_request_that_passed_is_not_counted_as_refused() {
    let verdicts = json!({ "allowed": 1, "refused": 20, "shadow_refused": 300, "unchecked": 0 });
    let services = json!({ "items": [{ "name": "shop", "verdicts": { "each": verdicts } }], "next": null });
    let rules = json!({ "policies": [{ "id": "each", "key": ["caller"], "tiers": [] }] });
    let routes = Router::new()
        .route("/v1/services", get(async move || services.to_string()))
        .route("/v1/services/shop/rules", get(async move || rules.to_string()));
    let page = text(asked(&over(api(&[]).merge(routes)), "/services"));
    let counts = ["1", "20", "300"].map(|count| format!("<td class=\"number\">{count}</td>")).concat();
    assert!(page.contains("shadow refused</th>") && page.contains(&counts), "{page}");
    assert!(page.contains("uses up its cost"), "{page}");
}

/// Or before a request is tried on it.
#[test]
fn a_service_that_is_deleted_while_the_page_reads_it_takes_no_other_from_the_page() {
    let services = ["gone", "shop"].map(|name| json!({ "name": name, "verdicts": {} }));
    let services = json!({ "items": services, "next": null }).to_string();
    let absent = || async { (StatusCode::NOT_FOUND, r#"{"title":"Unknown service","detail":"d"}"#) };
    let routes = Router::new()
        .route("/v1/services", get(async move || services))
        .route("/v1/services/gone/rules", get(absent))
        .route("/v1/services/gone/check", post(absent))
        .route("/v1/services/shop/rules", get(async || r#"{"policies":[]}"#));
    let page = over(api(&[]).merge(routes));
    let answer = asked(&page, "/services");
    assert_eq!(answer.status(), StatusCode::OK);
    let shown = text(answer);
    assert!(shown.contains("service-shop") && !shown.contains("service-gone"), "{shown}");
    assert_eq!(submitted(&page, "/services/gone/try", "path=/").status(), StatusCode::NOT_FOUND);
}

#[test]
fn a_try_after_which_the_services_cant_be_read_is_shown_as_that_error() {
    let routes = Router::new()
        .route("/v1/services", get(async || (StatusCode::SERVICE_UNAVAILABLE, r#"{"title":"No Redis","detail":"d"}"#)))
        .route("/v1/services/shop/check", post(async || r#"{"allowed":true}"#));
    let answer = submitted(&over(api(&[]).merge(routes)), "/services/shop/try", "path=/");
    assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
}
