//! Responses, and the security headers of all of them.

use axum::response::{Html, IntoResponse, Response};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use maud::Markup;

/// Allows scripts, styles and connections only from the dashboard, and forbids framing it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// A page, which must not be cached.
pub(crate) fn page(status: StatusCode, markup: Markup) -> Response {
    (status, guards(), Html(markup.into_string())).into_response()
}

pub(crate) fn see_other(path: &str) -> Response {
    let location = HeaderValue::try_from(path).unwrap_or(HeaderValue::from_static("/"));
    (StatusCode::SEE_OTHER, guards(), HeaderMap::from_iter([(header::LOCATION, location)])).into_response()
}

fn guards() -> [(HeaderName, &'static str); 3] {
    [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CACHE_CONTROL, "no-store"),
        (header::REFERRER_POLICY, "same-origin"),
    ]
}
