//! Reads a request's body within limits of size, time and memory.

pub(crate) mod budget;

use std::borrow::Cow;
use std::net::IpAddr;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::extract::{FromRequest, Request};
use bytes::{Bytes, BytesMut};
use dripfeed_auth::Waiter;
use dripfeed_job::{duration, size};
use http_body_util::BodyExt as _;
use tokio::sync::OwnedSemaphorePermit;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType};
use utoipa::{PartialSchema, ToSchema};

use self::budget::{BodyBudget, BodyShare, COUNTED};
use crate::intake::Intake;
use crate::problem::{Code, Problem};

const LARGEST_FORM: u64 = 2 * 1024 * 1024;

/// A body, and its share of the memory budget until it is dropped.
struct Budgeted {
    body: Bytes,
    _reserved: Reserved,
}

#[derive(Default)]
struct Reserved {
    permit: Option<OwnedSemaphorePermit>,
    share: Option<BodyShare>,
}

/// Who sends a body: the id of its key, and its address.
#[derive(Clone, Copy)]
pub(crate) struct Sender<'a> {
    pub(crate) caller: Option<&'a str>,
    pub(crate) address: Option<IpAddr>,
}

impl AsRef<[u8]> for Budgeted {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

pub(crate) async fn read(body: Body, intake: &Intake) -> Result<Bytes, Problem> {
    read_within(body, intake.settings().max_body, intake, None).await
}

/// Of callers that send many: each gets its part of the memory.
pub(crate) async fn read_from(sender: Sender<'_>, body: Body, intake: &Intake) -> Result<Bytes, Problem> {
    read_within(body, intake.settings().max_body, intake, Some(sender)).await
}

/// The body of a request to a page, where some bytes of a payload take three.
pub(crate) async fn read_form(address: Option<IpAddr>, body: Body, intake: &Intake) -> Result<Bytes, Problem> {
    read_within(body, LARGEST_FORM, intake, Some(Sender { caller: None, address })).await
}

/// Parses a body; a large one on a separate thread, so that it doesn't block others.
pub(crate) async fn parse<T: Send + 'static>(
    body: Bytes,
    read: impl FnOnce(&Bytes) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    dripfeed_bucket::parse(body.len(), move || read(&body)).await?
}

async fn read_within(body: Body, most: u64, intake: &Intake, sender: Option<Sender<'_>>) -> Result<Bytes, Problem> {
    read_in_time(body, most, intake.settings().body_timeout, intake.body_budget(), sender).await
}

async fn read_in_time(
    body: Body,
    most: u64,
    timeout: Duration,
    budget: &BodyBudget,
    sender: Option<Sender<'_>>,
) -> Result<Bytes, Problem> {
    // A declared length is refused before the first byte is read.
    if body.size_hint().lower() > most {
        return Err(too_large(most));
    }
    let mut read = pin!(collect(body, most, budget, sender));
    // Most bodies have come with their head: they need no timer.
    if let Poll::Ready(read) = futures::poll!(read.as_mut()) {
        return read;
    }
    tokio::time::timeout(timeout, read).await.unwrap_or_else(|_| Err(too_slow(timeout)))
}

/// Memory is reserved for received bytes, not for the declared length: using up the budget costs a client as many
/// bytes.
async fn collect(mut body: Body, most: u64, budget: &BodyBudget, sender: Option<Sender<'_>>) -> Result<Bytes, Problem> {
    let most_bytes = usize::try_from(most).unwrap_or(usize::MAX);
    let mut collected = Bytes::new();
    let mut reserved = Reserved::default();
    while let Some(frame) = body.frame().await {
        let incomplete = |_| Problem::new(Code::BadBody, "the body ended early, or its framing is invalid");
        let Ok(data) = frame.map_err(incomplete)?.into_data() else { continue };
        if data.len() > most_bytes - collected.len() {
            return Err(too_large(most));
        }
        reserved.add(data.len(), collected.len(), budget, sender).ok_or_else(overloaded)?;
        // Most bodies come as a whole, and are kept where the connection has read them.
        collected = if collected.is_empty() { data } else { joined(collected, &data) };
    }
    Ok(Bytes::from_owner(Budgeted { body: collected, _reserved: reserved }))
}

impl Reserved {
    /// For `more` bytes behind those `before`. None: there is no room for them.
    fn add(&mut self, more: usize, before: usize, budget: &BodyBudget, sender: Option<Sender<'_>>) -> Option<()> {
        if let Some(Sender { caller, address }) = sender
            && before + more > COUNTED
        {
            let counted = if self.share.is_some() { more } else { before + more };
            self.share.get_or_insert_with(|| budget.share_of(Waiter::new(caller, address))).add(counted)?;
        }
        let permit = budget.reserve(more)?;
        match &mut self.permit {
            Some(reserved) => reserved.merge(permit),
            None => self.permit = Some(permit),
        }
        Some(())
    }
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
