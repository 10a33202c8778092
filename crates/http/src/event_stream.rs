//! Responses of server-sent events.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use http::{HeaderName, HeaderValue, header};

/// nginx collects a response until its buffer is full, unless this says not to.
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// Returns a stream of events, each of which is to arrive when it is sent.
#[must_use]
pub fn event_stream(events: Body) -> Response {
    let fields = [
        (header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
        (header::CACHE_CONTROL, HeaderValue::from_static("no-store")),
        (ACCEL_BUFFERING, HeaderValue::from_static("no")),
    ];
    (fields, events).into_response()
}
