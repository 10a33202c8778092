//! HTTP out: takes jobs at each bucket's pace, calls its upstream, and settles what came of it.
//!
//! A job's journey: a `lane` takes it together with a token of the pace, its `journey` builds the `request`, makes the
//! `call`, judges the answer (`judge`) and settles. A lane's `heartbeat` shows the others that it lives.
//!
//! **Architecture invariants:** upstreams come from configuration, never from a job. One attempt is one request that
//! the upstream could have seen. A job's end is decided in Redis alone: nothing is remembered here.

mod address;
mod call;
mod connector;
mod consumer;
mod course;
mod heartbeat;
mod journey;
mod judge;
mod lane;
mod metrics;
mod outage;
mod processor;
mod request;
mod settings;
mod signature;
mod trust;
mod upstream;

pub use connector::{Connector, ConnectorError};
pub use processor::Processor;
pub use settings::ProcessorSettings;
pub use signature::{BadSigningSecret, SigningSecret};
pub use trust::{BadTrust, Trust};
pub use upstream::{BadUpstream, Upstream, UpstreamSettings};
