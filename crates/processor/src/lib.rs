//! HTTP out: takes jobs at each bucket's pace, calls its upstream, and settles what came of it.
//!
//! The life of a job here: a `lane` claims it together with a token of the pace; an `attempt` builds its request and
//! makes the `call`, and `settlement` decides what the answer means. A lane's `heartbeat` keeps its claims alive.
//!
//! **Architecture invariants:** upstreams come from configuration, never from a job. One attempt is one request that
//! the upstream could have seen. A job's end is decided in Redis alone: nothing is remembered here.

mod attempt;
mod call;
mod consumer_name;
mod heartbeat;
mod lane;
mod lane_context;
mod metrics;
mod outage_backoff;
mod processor;
mod retention;
mod settings;
mod settlement;
mod shortage;
mod upstream;

pub use processor::Processor;
pub use settings::ProcessorSettings;
pub use upstream::connector::{Connector, ConnectorError};
pub use upstream::root_certs::{BadRootCerts, RootCerts};
pub use upstream::signature::{BadSigningSecret, SigningSecret};
pub use upstream::{BadUpstream, Upstream, UpstreamSettings};
