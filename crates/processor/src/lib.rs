//! HTTP out: takes jobs at each bucket's pace, calls its upstream, and settles what came of it.
//!
//! The life of a job here: a `lane` claims it together with a token of the pace; an `attempt` builds its request, makes
//! the `call`, decides what the answer means, and settles. A lane's `upkeep` keeps its claims alive, and
//! its `history` what they came to. Where nothing is to be done, it is on `standby`.
//!
//! **Architecture invariants:** upstreams come from configuration, never from a job. One attempt is one request that
//! the upstream could have seen. A job's end is decided in Redis alone: nothing is remembered here.

mod attempt;
mod attempts;
mod call;
mod consumer_name;
mod history;
mod lane;
mod lane_context;
mod metrics;
mod outage;
mod processor;
mod settings;
mod standby;
mod standby_state;
mod upkeep;
mod upstream;

pub use processor::Processor;
pub use settings::ProcessorSettings;
pub use upstream::connector::{Connector, ConnectorError};
pub use upstream::pattern::{BadUpstreamPattern, UpstreamPattern};
pub use upstream::root_certs::{BadRootCerts, RootCerts};
pub use upstream::signature::{BadSigningSecret, SigningSecret};
pub use upstream::{BadUpstream, Upstream, UpstreamSettings};
