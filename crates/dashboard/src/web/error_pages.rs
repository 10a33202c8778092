//! Shows errors as pages if a browser requests a path without a page.

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use http::{HeaderMap, Method, StatusCode, header};

use crate::parts::layout;
use crate::web::failure::Failure;
use crate::web::visitor::wants_page;

/// To be applied to all routes of an address, because the dashboard has no route for unknown paths.
pub fn with_error_pages(routes: Router) -> Router {
    routes.layer(from_fn(as_page))
}

async fn as_page(request: Request, next: Next) -> Response {
    let is_of_api = request.uri().path().starts_with("/v1");
    let wants_page = request.method() == Method::GET && !is_of_api && wants_page(request.headers());
    let answer = next.run(request).await;
    match failure(answer.status()).filter(|_| wants_page && !is_page(answer.headers())) {
        Some(failure) => replaced(answer, layout::failed(None, &failure)),
        None => answer,
    }
}

fn failure(status: StatusCode) -> Option<Failure> {
    let invalid = || Failure::new(status, "Invalid address", "a part of this address can't be read");
    match status {
        StatusCode::NOT_FOUND => Some(Failure::not_found()),
        StatusCode::BAD_REQUEST => Some(invalid()),
        StatusCode::METHOD_NOT_ALLOWED => Some(Failure::new(status, "No page", "this address answers only a form")),
        _ => None,
    }
}

fn is_page(headers: &HeaderMap) -> bool {
    let content_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type.is_some_and(|content_type| content_type.starts_with("text/html"))
}

/// Replaces the body of an answer, and keeps its other headers.
fn replaced(mut answer: Response, page: Response) -> Response {
    answer.headers_mut().remove(header::CONTENT_LENGTH);
    let (parts, body) = page.into_parts();
    answer.headers_mut().extend(parts.headers);
    *answer.body_mut() = body;
    answer
}
