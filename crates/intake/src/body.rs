//! Reading a request's body: no more of it, and for no longer, than is allowed.

use std::borrow::Cow;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use bytes::Bytes;
use dripfeed_job::{duration, size};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType};
use utoipa::{PartialSchema, ToSchema};

use crate::problem::{Code, Problem};
use crate::settings::IntakeSettings;

pub(crate) async fn read(body: Body, settings: &IntakeSettings) -> Result<Bytes, Problem> {
    // A length that is announced is refused before the first byte is asked for.
    if body.size_hint().lower() > settings.max_body {
        return Err(too_large(settings.max_body));
    }
    let most = usize::try_from(settings.max_body).unwrap_or(usize::MAX);
    match tokio::time::timeout(settings.body_timeout, Limited::new(body, most).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large(settings.max_body)),
        Ok(Err(_)) => Err(Problem::new(Code::BadBody, "the body ended early, or its framing is broken")),
        Err(_) => Err(too_slow(settings.body_timeout)),
    }
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
            max_connections: 1,
            head_timeout: Duration::from_secs(1),
            body_timeout: Duration::from_millis(20),
            drain: Duration::from_secs(1),
            x_ratelimit_headers: false,
            max_batch: 1,
        }
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
