//! Errors as pages, where a browser asks for a page and no page of ours answers.

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use http::{HeaderMap, Method, StatusCode, header};

use crate::parts::layout;
use crate::web::failure::Failure;
use crate::web::visitor::wants_page;

/// Over all routes of an address, since the dashboard has no route for an unknown path.
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

/// Keeps the other headers of the answer.
fn replaced(mut answer: Response, page: Response) -> Response {
    answer.headers_mut().remove(header::CONTENT_LENGTH);
    let (parts, body) = page.into_parts();
    answer.headers_mut().extend(parts.headers);
    *answer.body_mut() = body;
    answer
}
