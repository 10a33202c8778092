//! The processor: claims jobs at each bucket's pace, calls the upstream, and records the outcome.
//!
//! A `lane` claims jobs together with rate tokens; an `attempt` builds the request, makes the `call`, decides by the
//! answer, and settles the job. A lane's `upkeep` sends heartbeats, recovers jobs of dead replicas, and writes the
//! history. An idle lane is on `standby`.
//!
//! **Architecture invariants:** upstreams come from configuration, never from a job. One attempt is one request that
//! the upstream could have seen. Only Redis decides how a job ends: a processor has no state that must survive it.

mod attempt;
mod attempts;
mod call;
mod consumer_name;
mod lane;
mod lane_context;
mod local_shortage;
mod logged_retry;
mod metrics;
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
pub use upstream::{BadUpstream, Upstream, UpstreamFault, UpstreamSettings};
