//! Reads a request's body within limits of size, time and memory.

use std::borrow::Cow;
use std::net::IpAddr;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, HttpBody as _};
use axum::extract::{FromRequest, Request};
use bytes::{Bytes, BytesMut};
use dripfeed_auth::{BodyBudget, BodyShare, Caller, LimitedCaller};
use dripfeed_job::{duration, size};
use http::Method;
use http_body_util::BodyExt as _;
use tokio::sync::OwnedSemaphorePermit;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType};
use utoipa::{PartialSchema, ToSchema};

use crate::intake::Intake;
use crate::problem::{Code, Problem};
use crate::request::access::check_current;
use crate::request::client_ip::ClientIp;

/// Smaller bodies don't count against the caller's share: even on all connections together they leave room for others.
const COUNTED: usize = 16 * 1024;
const LARGEST_FORM: u64 = 2 * 1024 * 1024;
/// Maximum size of a body in a request that needs none, in bytes.
const MAX_UNUSED: u64 = 64 * 1024;

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

/// The caller that sends a body, and its address. Each has a share of the memory budget.
#[derive(Clone, Copy)]
pub(crate) struct Sender<'a> {
    pub(crate) caller: &'a Caller,
    pub(crate) address: Option<IpAddr>,
}

impl AsRef<[u8]> for Budgeted {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

pub(crate) async fn read(sender: Sender<'_>, body: Body, intake: &Intake) -> Result<Bytes, Problem> {
    read_within(sender, body, intake.settings().max_body, intake).await
}

async fn read_within(sender: Sender<'_>, body: Body, most: u64, intake: &Intake) -> Result<Bytes, Problem> {
    let waiter = || LimitedCaller::new(sender.caller.id(), sender.address);
    let check = || check_current(sender.caller, intake);
    read_in_time(body, most, intake.settings().body_timeout, intake.body_budget(), waiter, check).await
}

/// Reads the body of a form, in which some bytes of a payload take three. The caller is checked after the read.
pub(crate) async fn read_form(address: Option<IpAddr>, body: Body, intake: &Intake) -> Result<Bytes, Problem> {
    let (timeout, budget) = (intake.settings().body_timeout, intake.body_budget());
    read_in_time(body, LARGEST_FORM, timeout, budget, || LimitedCaller::new(None, address), || Ok(())).await
}

/// Parses a body; a large one on another thread, so that it doesn't block other requests.
pub(crate) async fn parse<T: Send + 'static>(
    body: Bytes,
    read: impl FnOnce(&Bytes) -> Result<T, Problem> + Send + 'static,
) -> Result<T, Problem> {
    dripfeed_bucket::parse(body.len(), move || read(&body)).await?
}

/// `check` runs if the body arrived after the head of the request.
async fn read_in_time(
    body: Body,
    most: u64,
    timeout: Duration,
    budget: &BodyBudget,
    waiter: impl Fn() -> LimitedCaller,
    check: impl FnOnce() -> Result<(), Problem>,
) -> Result<Bytes, Problem> {
    // A declared length is refused before the first byte is read.
    if body.size_hint().lower() > most {
        return Err(too_large(most));
    }
    let mut read = pin!(collect(body, most, budget, waiter));
    // Most bodies arrive together with the head, and need no timer.
    if let Poll::Ready(read) = futures::poll!(read.as_mut()) {
        return read;
    }
    let body = tokio::time::timeout(timeout, read).await.unwrap_or_else(|_| Err(too_slow(timeout)))?;
    check()?;
    Ok(body)
}

/// Reserves memory for received bytes, not for the declared length: a client has to send as many bytes as it takes of
/// the budget.
async fn collect(
    mut body: Body,
    most: u64,
    budget: &BodyBudget,
    waiter: impl Fn() -> LimitedCaller,
) -> Result<Bytes, Problem> {
    let most_bytes = usize::try_from(most).unwrap_or(usize::MAX);
    let mut collected = Bytes::new();
    let mut reserved = Reserved::default();
    while let Some(frame) = body.frame().await {
        let incomplete = |_| Problem::new(Code::BadBody, "the body ended early, or its framing is invalid");
        let Ok(data) = frame.map_err(incomplete)?.into_data() else { continue };
        if data.len() > most_bytes - collected.len() {
            return Err(too_large(most));
        }
        reserved.add(data.len(), collected.len(), budget, &waiter).ok_or_else(overloaded)?;
        // Most bodies arrive in one piece, which isn't copied.
        collected = if collected.is_empty() { data } else { append(collected, &data) };
    }
    Ok(Bytes::from_owner(Budgeted { body: collected, _reserved: reserved }))
}

impl Reserved {
    /// Reserves memory for `more` bytes after the first `before` bytes. Returns `None` if the budget has no room.
    fn add(
        &mut self,
        more: usize,
        before: usize,
        budget: &BodyBudget,
        waiter: impl Fn() -> LimitedCaller,
    ) -> Option<()> {
        if before + more > COUNTED {
            let counted = if self.share.is_some() { more } else { before + more };
            self.share.get_or_insert_with(|| budget.share_of(waiter())).add(counted)?;
        }
        let permit = budget.reserve(more)?;
        match &mut self.permit {
            Some(reserved) => reserved.merge(permit),
            None => self.permit = Some(permit),
        }
        Some(())
    }
}

/// Appends `data`. `before` is copied only the first time: from then on, nobody else shares it.
fn append(before: Bytes, data: &[u8]) -> Bytes {
    let mut bytes = BytesMut::from(before);
    bytes.extend_from_slice(data);
    bytes.freeze()
}

/// The body of an operation that takes none. It is read completely before the operation runs, so that these requests
/// have no effect: a broken one, one whose key is revoked meanwhile, and a POST whose body asks for something else,
/// such as a filter for a purge or another payload for a replay. An empty document is accepted, which some clients
/// send, and with DELETE any body.
pub(crate) struct NoBody;

impl FromRequest<Intake> for NoBody {
    type Rejection = Problem;

    async fn from_request(request: Request, intake: &Intake) -> Result<Self, Problem> {
        let (parts, body) = request.into_parts();
        let ClientIp(address) = ClientIp::of(&parts, intake);
        let caller = intake.keys().caller(&parts.headers).ok_or_else(Problem::unauthenticated)?;
        let body = read_within(Sender { caller: &caller, address }, body, MAX_UNUSED, intake).await?;
        match body.trim_ascii() {
            b"" | b"{}" | b"null" => Ok(Self),
            _ if parts.method == Method::DELETE => Ok(Self),
            _ => Err(Problem::new(Code::BadBody, "this operation takes no body, and nothing was done: omit it")),
        }
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
