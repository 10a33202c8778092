//! Reads a request's body within limits of size, time and memory.

use std::borrow::Cow;
use std::pin::pin;
use std::task::Poll;
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

use crate::intake::{BodyBudget, Intake};
use crate::problem::{Code, Problem};
use crate::settings::IntakeSettings;

/// A body, and its share of the memory budget until it is dropped.
struct Budgeted {
    body: Bytes,
    _permit: Option<OwnedSemaphorePermit>,
}

impl AsRef<[u8]> for Budgeted {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

pub(crate) async fn read(body: Body, intake: &Intake) -> Result<Bytes, Problem> {
    read_within(body, intake.settings(), intake.body_budget()).await
}

/// Parses a body; a large one on a separate thread, so that it doesn't block others.
pub(crate) async fn parse<T: Send + 'static>(
    body: Bytes,
    read: impl FnOnce(&Bytes) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    dripfeed_bucket::parse(body.len(), move || read(&body)).await?
}

async fn read_within(body: Body, settings: &IntakeSettings, budget: &BodyBudget) -> Result<Bytes, Problem> {
    // A declared length is refused before the first byte is read.
    if body.size_hint().lower() > settings.max_body {
        return Err(too_large(settings.max_body));
    }
    let mut read = pin!(collect(body, settings.max_body, budget));
    // Most bodies have come with their head: they need no timer.
    if let Poll::Ready(read) = futures::poll!(read.as_mut()) {
        return read;
    }
    let read = tokio::time::timeout(settings.body_timeout, read).await;
    read.unwrap_or_else(|_| Err(too_slow(settings.body_timeout)))
}

/// Memory is reserved for received bytes, not for the declared length: using up the budget costs a client as many
/// bytes.
async fn collect(mut body: Body, most: u64, budget: &BodyBudget) -> Result<Bytes, Problem> {
    let most_bytes = usize::try_from(most).unwrap_or(usize::MAX);
    let mut collected = Bytes::new();
    let mut reserved: Option<OwnedSemaphorePermit> = None;
    while let Some(frame) = body.frame().await {
        let incomplete = |_| Problem::new(Code::BadBody, "the body ended early, or its framing is invalid");
        let Ok(data) = frame.map_err(incomplete)?.into_data() else { continue };
        if data.len() > most_bytes - collected.len() {
            return Err(too_large(most));
        }
        let permit = budget.reserve(data.len()).ok_or_else(overloaded)?;
        match &mut reserved {
            Some(reserved) => reserved.merge(permit),
            None => reserved = Some(permit),
        }
        // Most bodies come as a whole, and are kept where the connection has read them.
        collected = if collected.is_empty() { data } else { joined(collected, &data) };
    }
    Ok(Bytes::from_owner(Budgeted { body: collected, _permit: reserved }))
}

/// Copies what came before only the first time: from then on nobody shares it.
fn joined(before: Bytes, data: &[u8]) -> Bytes {
    let mut joined = BytesMut::from(before);
    joined.extend_from_slice(data);
    joined.freeze()
}

/// The ignored body of an operation that needs none. It is read completely first, so that a broken request has no
/// effect.
pub(crate) struct Unused;

impl FromRequest<Intake> for Unused {
    type Rejection = Problem;

    async fn from_request(request: Request, intake: &Intake) -> Result<Self, Problem> {
        read(request.into_body(), intake).await.map(|_| Self)
    }
}

fn overloaded() -> Problem {
    Problem::new(Code::Overloaded, "the request was not stored; retry later, or at another intake")
        .retry_after(Some(Duration::from_secs(1)))
}

/// Bytes of any media type, for the API description.
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
    Problem::new(Code::BodyTimeout, format!("the body must arrive within {}", duration::show(most)))
}

#[cfg(test)]
mod tests;
