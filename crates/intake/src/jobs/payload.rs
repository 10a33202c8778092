//! The payload of a job, with its method, path and headers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use dripfeed_bucket::JobPayload;
use serde::Serialize;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
pub(crate) struct Payload {
    #[schema(required)]
    content_type: Option<String>,
    /// The payload, if it is UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    body: Option<String>,
    /// The payload, if it isn't UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    body_base64: Option<String>,
    /// Whether the payload is cut: of a job that was written into Redis by hand, and is larger than any submitted one.
    truncated: bool,
    /// Null: the bucket's method.
    #[schema(required)]
    method: Option<String>,
    #[schema(required)]
    path: Option<String>,
    /// The headers forwarded to the upstream.
    headers: Vec<Header>,
}

impl From<JobPayload> for Payload {
    fn from(payload: JobPayload) -> Self {
        let (body, body_base64) = text_or_base64(&payload.body);
        Self {
            content_type: payload.content_type,
            body,
            body_base64,
            truncated: payload.truncated,
            method: payload.method,
            path: payload.path,
            headers: headers(payload.headers),
        }
    }
}

#[derive(Serialize, ToSchema)]
pub(crate) struct Header {
    name: String,
    value: String,
}

pub(crate) fn headers(headers: Vec<(String, String)>) -> Vec<Header> {
    headers.into_iter().map(|(name, value)| Header { name, value }).collect()
}

/// Returns the body as text if it is UTF-8, otherwise as base64.
pub(crate) fn text_or_base64(body: &Bytes) -> (Option<String>, Option<String>) {
    match std::str::from_utf8(body) {
        Ok(text) => (Some(text.to_owned()), None),
        Err(_) => (None, Some(STANDARD.encode(body))),
    }
}
