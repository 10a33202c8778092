//! How large the head of a request may be.

use axum::extract::Request;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use crate::problem::{Code, Problem};

const MOST_FIELDS: usize = 128;
const MOST_BYTES: usize = 32 * 1024;

/// What the parser bears before it closes the connection with a bare 431: more than what is allowed, so that the usual
/// excess gets a problem that tells the limits.
pub(crate) const PARSED_FIELDS: usize = 256;
pub(crate) const PARSED_BYTES: usize = 64 * 1024;

pub(crate) async fn limit(request: Request, next: Next) -> Response {
    let fields = request.headers().len();
    let in_fields: usize = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    let in_path = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    if fields > MOST_FIELDS || in_fields + in_path > MOST_BYTES {
        let detail = format!("send at most {MOST_FIELDS} header fields, and {MOST_BYTES} bytes of them with the path");
        return Problem::new(Code::HeadersTooLarge, detail).into_response();
    }
    next.run(request).await
}
