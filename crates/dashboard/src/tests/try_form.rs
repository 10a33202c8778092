use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::routing::{get, post};
use http::StatusCode;
use serde_json::json;

use super::{api, asked, over, submitted, text};
use crate::Dashboard;

const RELOAD: &str = "reload to update";

/// With a service `shop` that allows every request, and how often it was asked.
fn page() -> (Dashboard, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let checks = Arc::clone(&count);
    let check = async move || {
        checks.fetch_add(1, Ordering::Relaxed);
        json!({ "allowed": true }).to_string()
    };
    let services = json!({ "items": [{ "name": "shop", "verdicts": {} }], "next": null }).to_string();
    let routes = Router::new()
        .route("/v1/services", get(async move || services))
        .route("/v1/services/shop/rules", get(async || json!({ "policies": [] }).to_string()))
        .route("/v1/services/shop/check", post(check));
    (over(api(&[]).merge(routes)), count)
}

#[test]
fn the_form_keeps_what_was_typed() {
    let (page, checks) = page();
    let tried = text(submitted(&page, "/services/shop/try", "method=PUT&path=%2Fabc%3Fx&caller=joe&cost=2"));
    for (name, value) in [("method", "PUT"), ("path", "/abc?x"), ("caller", "joe"), ("cost", "2")] {
        assert!(tried.contains(&format!("name=\"{name}\" value=\"{value}\"")), "{name}: {tried}");
    }
    assert!(tried.contains("Allowed") && checks.load(Ordering::Relaxed) == 1, "{tried}");
}

#[test]
fn a_cost_that_is_no_number_is_refused_and_not_charged() {
    let (page, checks) = page();
    for cost in ["lots", "-3", "1.5"] {
        let answer = submitted(&page, "/services/shop/try", &format!("method=GET&path=%2F&caller=joe&cost={cost}"));
        assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY, "{cost}");
        let tried = text(answer);
        assert!(tried.contains("cost: give a whole number") && !tried.contains("Allowed"), "{tried}");
        assert!(tried.contains(&format!("value=\"{cost}\"")) && tried.contains("value=\"joe\""), "{tried}");
    }
    assert_eq!(checks.load(Ordering::Relaxed), 0);
}

#[test]
fn only_a_page_that_has_an_address_is_loaded_again() {
    let (page, _) = page();
    assert!(text(asked(&page, "/redis")).contains(RELOAD));
    for (path, fields) in [("/services/shop/try", "cost=1"), ("/buckets/b/purge", "confirm=no")] {
        let answer = text(submitted(&page, path, fields));
        assert!(!answer.contains(RELOAD), "{path}: {answer}");
    }
}
