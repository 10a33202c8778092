//! Limits the memory of responses that their callers haven't read yet.

use std::time::Duration;

use axum::body::{Body, HttpBody as _, to_bytes};
use axum::response::Response;
use bytes::Bytes;
use dripfeed_auth::{BodyReservation, LimitedCaller};

use crate::intake::Intake;
use crate::problem::{Code, Problem};

/// Smaller responses don't count: even on all connections together they leave room for others.
const COUNTED: usize = 16 * 1024;

/// A body, and its share of the memory budget until the connection has written it.
struct Unread {
    body: Bytes,
    _reserved: BodyReservation,
}

impl AsRef<[u8]> for Unread {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

/// Returns the response with memory reserved for its body.
///
/// # Errors
/// When the budget, or the reader's share of it, is used up.
pub(crate) async fn reserve(intake: &Intake, reader: LimitedCaller, response: Response) -> Result<Response, Problem> {
    // A stream has no known size; it is produced while it is read.
    let Some(bytes) = response.body().size_hint().exact() else { return Ok(response) };
    let reserved = reserve_bytes(intake, reader, usize::try_from(bytes).unwrap_or(usize::MAX))?;
    hold(response, reserved).await
}

/// Reserves memory for a response that isn't built yet. Returns `None` if it is too small to count.
///
/// # Errors
/// When the budget, or the reader's share of it, is used up.
pub(crate) fn reserve_bytes(
    intake: &Intake,
    reader: LimitedCaller,
    bytes: usize,
) -> Result<Option<BodyReservation>, Problem> {
    if bytes <= COUNTED {
        return Ok(None);
    }
    intake.body_budget().reserve_response(reader, bytes).ok_or_else(too_many).map(Some)
}

/// Returns the response with the reservation, which lasts until the connection has written it.
///
/// # Errors
/// When its body can't be made.
pub(crate) async fn hold(response: Response, reserved: Option<BodyReservation>) -> Result<Response, Problem> {
    let Some(reserved) = reserved else { return Ok(response) };
    let (head, body) = response.into_parts();
    let body = to_bytes(body, usize::MAX).await.map_err(|_| Problem::internal())?;
    Ok(Response::from_parts(head, Body::from(Bytes::from_owner(Unread { body, _reserved: reserved }))))
}

fn too_many() -> Problem {
    let detail = "too many large responses of this intake are unread; read them, or retry later";
    Problem::new(Code::Overloaded, detail).retry_after(Some(Duration::from_secs(1)))
}
