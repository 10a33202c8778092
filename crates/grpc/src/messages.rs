//! Middleware that authenticates a call by its head, and limits the memory of messages, before a message is read.
//! Otherwise endless messages of anybody could fill the memory.

use std::net::IpAddr;
use std::sync::Arc;

use axum::BoxError;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use bytes::Bytes;
use dripfeed_auth::{BodyBudget, BodyShare, Caller, LimitedCaller};
use dripfeed_http::limits::head_bytes;
use futures::StreamExt as _;
use http::HeaderMap;
use parking_lot::Mutex;
use tokio::sync::OwnedSemaphorePermit;
use tonic::Status;
use tonic::server::NamedService;

use crate::access::{Access, address};
use crate::envoy::Envoy;
use crate::proto::rate_limiter_server::RateLimiterServer;
use crate::rate_limit_service::rate_limit_service_server::RateLimitServiceServer;
use crate::service::RateLimiter;

/// Maximum bytes of the messages of all unanswered calls, at most half of them of one caller.
const MOST_BYTES: u64 = 64 << 20;
/// Bytes that each call counts besides its head and message, so that the number of calls is bounded, too.
const CALL: usize = 4 * 1024;

/// The services whose key is in the head.
const WITH_KEY: [&str; 2] =
    [<RateLimiterServer<RateLimiter> as NamedService>::NAME, <RateLimitServiceServer<Envoy> as NamedService>::NAME];

/// The memory for messages. Callers with a key have a separate budget.
#[derive(Debug)]
pub(crate) struct Messages {
    access: Access,
    with_key: Arc<BodyBudget>,
    others: Arc<BodyBudget>,
}

impl Messages {
    pub(crate) fn new(access: Access) -> Self {
        let [with_key, others] = [(); 2].map(|()| Arc::new(BodyBudget::new(MOST_BYTES, 0)));
        Self { access, with_key, others }
    }

    /// Authenticates a call by its head. While an unknown key is read from Redis, the call counts as one without a key.
    async fn authenticate(&self, headers: &HeaderMap, address: Option<IpAddr>, bytes: usize) -> Result<Caller, Status> {
        if let Some(known) = self.access.known(headers) {
            return Ok(known);
        }
        let mut memory = self.of(None, address);
        memory.add(bytes)?;
        self.access.authenticate(headers).await
    }

    /// The memory of a call with this key, or without a key from this address.
    fn of(&self, key_id: Option<&str>, address: Option<IpAddr>) -> CallMemory {
        let budget = if key_id.is_some() { &self.with_key } else { &self.others };
        CallMemory {
            share: budget.share_of(LimitedCaller::new(key_id, address)),
            budget: Arc::clone(budget),
            permit: None,
        }
    }
}

/// The memory of one call.
struct CallMemory {
    budget: Arc<BodyBudget>,
    share: BodyShare,
    permit: Option<OwnedSemaphorePermit>,
}

impl CallMemory {
    fn add(&mut self, bytes: usize) -> Result<(), Status> {
        let full = || Status::unavailable("request buffers are full; retry later, or at another intake");
        self.share.add(bytes).ok_or_else(full)?;
        let permit = self.budget.reserve(bytes).ok_or_else(full)?;
        match &mut self.permit {
            Some(existing) => existing.merge(permit),
            None => self.permit = Some(permit),
        }
        Ok(())
    }
}

/// Refuses calls without a valid key, or without memory for them. A call keeps its memory until it is answered.
pub(crate) async fn limit(State(messages): State<Arc<Messages>>, mut request: Request, next: Next) -> Response {
    let (address, call) = (address(request.extensions()), CALL + head_bytes(&request));
    let mut key_id = None;
    if has_key_in_head(request.uri().path()) {
        match messages.authenticate(request.headers(), address, call).await {
            Ok(caller) => {
                key_id = caller.id().map(str::to_owned);
                request.extensions_mut().insert(caller);
            }
            Err(status) => return status.into_http(),
        }
    }
    let mut memory = messages.of(key_id.as_deref(), address);
    if let Err(status) = memory.add(call) {
        return status.into_http();
    }
    let memory = Arc::new(Mutex::new(memory));
    let read = Arc::clone(&memory);
    let counted = move |body: Body| {
        Body::from_stream(body.into_data_stream().map(move |data| -> Result<Bytes, BoxError> {
            let data = data?;
            read.lock().add(data.len())?;
            Ok(data)
        }))
    };
    let response = next.run(request.map(counted)).await;
    drop(memory);
    response
}

fn has_key_in_head(path: &str) -> bool {
    let service = path.strip_prefix('/').and_then(|path| path.split('/').next());
    service.is_some_and(|service| WITH_KEY.contains(&service))
}
