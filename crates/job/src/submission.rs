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

/// A submitted job, before it is accepted.
#[derive(Clone, Debug, Default)]
pub struct Submission {
    pub body: Bytes,
    pub content_type: Option<String>,
    /// By default the bucket's method.
    pub method: Option<Method>,
    pub path: Option<UpstreamPath>,
    pub headers: ForwardHeaders,
    pub caller: Option<String>,
    pub traceparent: Option<String>,
    pub idempotency_key: Option<IdempotencyKey>,
    pub start: StartTime,
    /// By default normal.
    pub priority: Option<Priority>,
    /// The group for fair queuing, instead of the caller.
    pub group: Option<Group>,
    /// The outcome jobs that it selects.
    pub chain: Chain,
    /// The job expires if no attempt has started within this time after it was accepted.
    pub expires_in: Option<Duration>,
    /// Retries after the first attempt; by default the bucket's setting.
    pub retries: Option<u32>,
    /// Timeout of one attempt, including the response body; by default the bucket's setting.
    pub timeout: Option<Duration>,
}

/// When a job may be called for the first time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StartTime {
    #[default]
    AtOnce,
    After(Duration),
    /// Milliseconds since the epoch, Redis clock.
    At(u64),
}
