//! The visitor of a live page, and the answer if the page can't be live.

use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::response::Response;
use dripfeed_http::event_stream;
use http::StatusCode;
use http::request::Parts;
use serde_json::json;

use crate::dashboard::Dashboard;
use crate::parts::layout;
use crate::web::failure::Failure;
use crate::web::identity::Visitor;
use crate::web::visitor::recognise;

pub(super) const SIGNED_OUT: &str = "event: signed-out\ndata:\n\n";

/// A refusal as an event, because scripts can't read the response to a refused stream. Browsers retry others anyway.
pub(super) fn refused(failure: &Failure) -> Response {
    match failure.status {
        StatusCode::UNAUTHORIZED => event_stream(Body::from(SIGNED_OUT)),
        status if status.is_server_error() => layout::failed(None, failure),
        _ => event_stream(Body::from(format!("event: refused\ndata: {}\n\n", json!(failure.title)))),
    }
}

/// The visitor of a live page.
pub(crate) struct Watcher(pub(crate) Visitor);

impl FromRequestParts<Dashboard> for Watcher {
    type Rejection = Response;

    async fn from_request_parts(parts: &mut Parts, page: &Dashboard) -> Result<Self, Response> {
        recognise(parts, page).await.map(Self).map_err(|failure| refused(&failure))
    }
}
