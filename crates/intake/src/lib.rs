//! HTTP in: takes submissions, and tells about buckets and jobs. One file for each thing a caller can do; `problem` makes
//! every answer that says no.
//!
//! A submission's way: `accept` (the connection) → `surface` (the route) → `caller` (who, and may they?) → `submit`,
//! `proxy` or `batch` (what do they want?) → `admit` (the bucket judges) → `receipt`, `wait` or `problem` (the answer).
//!
//! **Architecture invariant:** nothing here knows a Redis key or command; a request for a bucket that isn't configured
//! ends before Redis is asked.

mod accept;
mod address;
mod admit;
mod batch;
mod body;
mod body_room;
mod buckets;
mod caller;
mod cancel;
mod change;
mod check;
mod dead;
mod decisions;
mod describe;
mod gauges;
mod head;
pub mod health;
mod intake;
mod job;
mod jobs;
mod json;
mod keys;
mod listing;
mod metrics;
mod operate;
mod options;
mod outcomes;
mod pace_tier;
mod page;
mod parameters;
mod prefer;
mod problem;
mod proxy;
mod rarely;
mod rate_limit;
mod receipt;
mod refusals;
mod replay;
mod rules;
mod settings;
mod submit;
mod surface;
mod time;
mod wait;

pub use accept::{ConnectionLimits, Listener, Tls, TlsError, TlsIdentity, serve};
pub use caller::Caller;
pub use decisions::Decisions;
pub use gauges::Gauges;
pub use health::Health;
pub use intake::Intake;
pub use keys::{AccessKey, BucketSet, Keys, Scope, ServiceSet};
pub use metrics::IntakeMetrics;
pub use settings::IntakeSettings;
pub use surface::openapi;
