//! Reading a request's body: no more of it, and for no longer, than is allowed.

use std::borrow::Cow;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::extract::{FromRequest, Request};
use bytes::{Bytes, BytesMut};
use dripfeed_job::{duration, size};
use http_body_util::BodyExt as _;
use tokio::sync::OwnedSemaphorePermit;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType};
use utoipa::{PartialSchema, ToSchema};

use crate::body_room::BodyRoom;
use crate::intake::Intake;
use crate::problem::{Code, Problem};
use crate::settings::IntakeSettings;

/// A body, and the room that it takes as long as somebody has it.
struct Held {
    body: Bytes,
    _room: Option<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

pub(crate) async fn read(body: Body, intake: &Intake) -> Result<Bytes, Problem> {
    read_within(body, intake.settings(), intake.body_room()).await
}

async fn read_within(body: Body, settings: &IntakeSettings, room: &BodyRoom) -> Result<Bytes, Problem> {
    // A length that is announced is refused before the first byte is asked for.
    if body.size_hint().lower() > settings.max_body {
        return Err(too_large(settings.max_body));
    }
    let read = tokio::time::timeout(settings.body_timeout, collect(body, settings.max_body, room)).await;
    read.unwrap_or_else(|_| Err(too_slow(settings.body_timeout)))
}

/// Room is taken for what has come, not for what is announced: to take it from others costs as much as is taken.
async fn collect(mut body: Body, most: u64, room: &BodyRoom) -> Result<Bytes, Problem> {
    let most_bytes = usize::try_from(most).unwrap_or(usize::MAX);
    let mut collected = BytesMut::new();
    let mut held: Option<OwnedSemaphorePermit> = None;
    while let Some(frame) = body.frame().await {
        let broken = |_| Problem::new(Code::BadBody, "the body ended early, or its framing is broken");
        let Ok(data) = frame.map_err(broken)?.into_data() else { continue };
        if data.len() > most_bytes - collected.len() {
            return Err(too_large(most));
        }
        let taken = room.take(data.len()).ok_or_else(no_room)?;
        match &mut held {
            Some(held) => held.merge(taken),
            None => held = Some(taken),
        }
        collected.extend_from_slice(&data);
    }
    Ok(Bytes::from_owner(Held { body: collected.freeze(), _room: held }))
}

/// The body of a call that has no use for one. It comes whole before the call takes effect: a request that is broken
/// anywhere does nothing.
pub(crate) struct Unused;

impl FromRequest<Intake> for Unused {
    type Rejection = Problem;

    async fn from_request(request: Request, intake: &Intake) -> Result<Self, Problem> {
        read(request.into_body(), intake).await.map(|_| Self)
    }
}

fn no_room() -> Problem {
    Problem::new(Code::Overloaded, "nothing of this request was stored; send it again later, or to another intake")
        .retry_after(Some(Duration::from_secs(1)))
}

/// Bytes of any kind, for the API description.
pub(crate) struct Any;

impl PartialSchema for Any {
    fn schema() -> RefOr<Schema> {
        ObjectBuilder::new().schema_type(SchemaType::AnyValue).into()
    }
}

impl ToSchema for Any {
    fn name() -> Cow<'static, str> {
        Cow::Borrowed("Any")
    }
}

fn too_large(most: u64) -> Problem {
    Problem::new(Code::BodyTooLarge, format!("send at most {}", size::show(most)))
}

fn too_slow(most: Duration) -> Problem {
    Problem::new(Code::BodyTimeout, format!("send the whole body within {}", duration::show(most)))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use futures::{StreamExt as _, stream};

    use super::*;

    fn settings() -> IntakeSettings {
        IntakeSettings {
            max_body: 10,
            max_bodies: 20,
            max_connections: 1,
            trusted_proxies: Vec::new(),
            head_timeout: Duration::from_secs(1),
            body_timeout: Duration::from_millis(20),
            drain: Duration::from_secs(1),
            x_ratelimit_headers: false,
            max_batch: 1,
        }
    }

    async fn read(body: Body, settings: &IntakeSettings) -> Result<Bytes, Problem> {
        read_within(body, settings, &BodyRoom::new(settings.max_bodies)).await
    }

    fn code(read: Result<Bytes, Problem>) -> Code {
        read.unwrap_err().code()
    }

    #[tokio::test]
    async fn what_fits_is_read_whole() {
        assert_eq!(read(Body::from("0123456789"), &settings()).await.unwrap(), "0123456789");
        assert_eq!(read(Body::empty(), &settings()).await.unwrap(), "");
    }

    #[tokio::test]
    async fn reading_stops_where_the_room_ends() {
        assert_eq!(code(read(Body::from("0123456789a"), &settings()).await), Code::BodyTooLarge);
        let endless = stream::repeat_with(|| Ok::<_, std::io::Error>("abc"));
        assert_eq!(code(read(Body::from_stream(endless), &settings()).await), Code::BodyTooLarge);
    }

    #[tokio::test]
    async fn bodies_share_a_room_and_give_it_back() {
        let room = BodyRoom::new(15);
        let read = async |text: &'static str| read_within(Body::from(text), &settings(), &room).await;
        let first = read("0123456789").await.unwrap();
        let part = first.slice(2..4);
        assert_eq!(code(read("012345").await), Code::Overloaded);
        assert_eq!(read("01234").await.unwrap(), "01234");
        drop(first);
        assert_eq!(code(read("0123456789").await), Code::Overloaded, "a part of the first is still held");
        drop(part);
        assert_eq!(read("0123456789").await.unwrap(), "0123456789");
    }

    #[tokio::test]
    async fn a_body_that_drips_runs_out_of_time() {
        let silent = stream::iter([Ok::<_, std::io::Error>("abc")]).chain(stream::pending());
        assert_eq!(code(read(Body::from_stream(silent), &settings()).await), Code::BodyTimeout);
    }

    #[tokio::test]
    async fn a_body_that_breaks_off_is_no_body() {
        let broken = stream::iter([Ok("abc"), Err(std::io::Error::other("gone"))]);
        assert_eq!(code(read(Body::from_stream(broken), &settings()).await), Code::BadBody);
    }
}
