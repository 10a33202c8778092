//! Submitting jobs: read a request into a `Submission`, admit it, and answer.
//!
//! `single`, `proxy` and `batch` are the three ways in; all go through `admit`. The answer is a `receipt` (202), or
//! after `Prefer: wait` the upstream's response (`sync_wait`).

pub(crate) mod admit;
pub(crate) mod batch;
pub(crate) mod options;
pub(crate) mod priority;
pub(crate) mod proxy;
pub(crate) mod ratelimit_fields;
pub(crate) mod receipt;
pub(crate) mod single;
mod span;
pub(crate) mod sync_wait;
