//! A submission: a body and its options.

use std::time::Duration;

use bytes::Bytes;
use http::Method;

use crate::chain::Chain;
use crate::forward::ForwardHeaders;
use crate::group::Group;
use crate::idempotency::IdempotencyKey;
use crate::path::UpstreamPath;
use crate::priority::Priority;

/// A job before it is admitted.
#[derive(Clone, Debug, Default)]
pub struct Submission {
    pub body: Bytes,
    pub content_type: Option<String>,
    /// None: the bucket's own method.
    pub method: Option<Method>,
    pub path: Option<UpstreamPath>,
    pub headers: ForwardHeaders,
    pub caller: Option<String>,
    pub traceparent: Option<String>,
    pub idempotency_key: Option<IdempotencyKey>,
    pub start: Start,
    /// None: normal.
    pub priority: Option<Priority>,
    /// Waits for the turns of this group, and not for its caller's.
    pub group: Option<Group>,
    /// Of the outcome jobs that its end makes.
    pub chain: Chain,
    /// Not started by then, counted from the admission: the job expires.
    pub expires_in: Option<Duration>,
    /// Attempts after the first. None: the bucket's own number.
    pub retries: Option<u32>,
    /// For one attempt, body included. None: the bucket's own.
    pub timeout: Option<Duration>,
}

/// When a job may be called for the first time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    #[default]
    AtOnce,
    After(Duration),
    /// Milliseconds since the epoch, Redis clock.
    At(u64),
}
