//! Submission of jobs: parses a request into a `Submission`, admits it, and responds.
//!
//! `single`, `proxy` and `batch` are the three operations; all use `admit`. The response is a `receipt` (202), or with
//! `Prefer: wait` the upstream's response (`sync_wait`).

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
