//! `GET /docs`: Swagger UI, to read and try the API.

use axum::Router;
use axum::response::{Html, Redirect};
use axum::routing::{get, get_service};
use http::header;
use swagger_ui_dist::{ApiDefinition, OpenApiSource};

/// Replaces the library's page, which has an inline script, because the content security policy forbids these.
const PAGE: &str = include_str!("explorer/page.html");
const SCRIPT: &str = include_str!("explorer/start.js");

pub(super) fn routes() -> Router {
    let (uri_prefix, api_definition) = ("/docs", OpenApiSource::Uri("/openapi.json"));
    let files = swagger_ui_dist::generate_routes(ApiDefinition { uri_prefix, api_definition, title: None });
    Router::new()
        .route("/docs", get(|| async { Redirect::to("/docs/") }))
        .route("/docs/", get(|| async { Html(PAGE) }))
        .route("/docs/start.js", get(|| async { ([(header::CONTENT_TYPE, "text/javascript")], SCRIPT) }))
        .route("/docs/{file}", get_service(files))
}
