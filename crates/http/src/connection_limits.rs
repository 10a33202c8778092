use std::time::Duration;

/// Limits of one port.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Concurrent connections; at least 1.
    pub most: usize,
    /// Timeout of a request's head, counted from the end of the previous request; and of a TLS handshake.
    pub head_timeout: Duration,
    /// Timeout of a write that makes no progress.
    pub stall_timeout: Duration,
    /// Time for running requests to end after the stop.
    pub drain: Duration,
}
