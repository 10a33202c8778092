use std::time::Duration;

use ipnet::IpNet;

/// What the intake is set to: plain data, read and checked by the executable.
#[derive(Clone, Debug)]
pub struct IntakeSettings {
    /// The most bytes in one request's body.
    pub max_body: u64,
    /// The most bytes of bodies held at once, over all connections.
    pub max_bodies: u64,
    /// Connections at once; more wait in the listener's backlog.
    pub max_connections: usize,
    /// Whose `X-Forwarded-For` is believed.
    pub trusted_proxies: Vec<IpNet>,
    /// For a request's head to arrive, counted from the end of the request before.
    pub head_timeout: Duration,
    /// For a request's body to arrive; and the longest that nothing of an answer is taken.
    pub body_timeout: Duration,
    /// How long running requests may go on after the stop.
    pub drain: Duration,
    /// Whether answers also carry the older `x-ratelimit-*` fields.
    pub x_ratelimit_headers: bool,
    /// The most items in one batch.
    pub max_batch: usize,
}
