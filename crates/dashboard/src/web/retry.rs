//! Reloads pages that failed because of an outage.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use http::{HeaderName, HeaderValue, Method};

const REFRESH: HeaderName = HeaderName::from_static("refresh");
const AFTER_S: HeaderValue = HeaderValue::from_static("5");

/// Makes browsers reload an error page, which has no live updates, unless it answers a form.
pub(crate) async fn reload_failed(request: Request, next: Next) -> Response {
    let is_page = request.method() == Method::GET;
    let mut response = next.run(request).await;
    if is_page && response.status().is_server_error() {
        response.headers_mut().insert(REFRESH, AFTER_S);
    }
    response
}
