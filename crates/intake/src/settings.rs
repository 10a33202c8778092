use std::time::Duration;

use ipnet::IpNet;

use dripfeed_auth::Hosts;
use dripfeed_job::redaction::Redaction;

/// The intake's settings: plain data, parsed and validated by the executable.
#[derive(Clone, Debug)]
pub struct IntakeSettings {
    /// Maximum size of a request's body in bytes.
    pub max_body: u64,
    /// Maximum memory for request bodies in bytes, over all connections.
    pub max_bodies: u64,
    /// Concurrent connections; more wait in the listener's backlog.
    pub max_connections: usize,
    /// Concurrent connections from one address; more are closed.
    pub max_connections_per_address: usize,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<IpNet>,
    /// Timeout of a request's head.
    pub head_timeout: Duration,
    /// How long a connection stays open without a request, unless all connections are in use.
    pub idle_timeout: Duration,
    /// Timeout of a request's body, and of a write that makes no progress.
    pub body_timeout: Duration,
    /// How long requests are still served after the stop, while this intake reports not ready.
    pub drain_delay: Duration,
    /// How long running requests may go on after that.
    pub drain: Duration,
    /// Accepted host names if no keys are configured, besides addresses and `localhost`.
    pub hosts: Hosts,
    /// Whether responses also have the older `x-ratelimit-*` fields.
    pub x_ratelimit_headers: bool,
    /// Maximum number of items in a batch.
    pub max_batch: usize,
    /// Concurrent `Prefer: wait` requests, in total and per caller.
    pub max_waits: usize,
    pub max_waits_per_caller: usize,
    /// Open streams of events, in total and per caller.
    pub max_event_streams: usize,
    pub max_event_streams_per_caller: usize,
    /// The members and headers to mask in lists with `redacted=true`.
    pub redaction: Redaction,
}
