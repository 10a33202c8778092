//! Limits of a listener: connections, timeouts, and the size of request heads.

use std::time::Duration;

use http::Request;

/// As many as the parser of HTTP/1.1 reads without a setting: for more it would allocate 16 KiB for each request. It
/// refuses a request that has more, and closes the connection.
pub const MOST_FIELDS: usize = 100;
/// Of all fields and the path.
pub const MOST_BYTES: usize = 32 * 1024;

/// Beyond this the parser closes the connection with a bare 431. It is larger than the limit above, so that most
/// oversized heads get a response that names the limits.
pub(crate) const PARSED_BYTES: usize = 64 * 1024;

/// Limits of one port.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Concurrent connections; at least 1.
    pub most: usize,
    /// Of these from one address, of IPv6 from one network of 64 bits; further ones are closed. At least 1.
    pub most_per_address: usize,
    /// Timeout of a request's head, counted from the end of the previous request; and of a TLS handshake.
    pub head_timeout: Duration,
    /// Timeout of a write that makes no progress.
    pub stall_timeout: Duration,
    /// Time for running requests to end after the stop.
    pub drain: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("send at most {MOST_FIELDS} header fields, and {MOST_BYTES} bytes of them with the path")]
pub struct HeadersTooLarge;

/// Checks a request's head.
///
/// # Errors
/// When it has too many fields, or fields and path are too long.
pub fn check_head<B>(request: &Request<B>) -> Result<(), HeadersTooLarge> {
    let is_too_large = request.headers().len() > MOST_FIELDS || head_bytes(request) > MOST_BYTES;
    if is_too_large { Err(HeadersTooLarge) } else { Ok(()) }
}

/// Bytes of a request's fields and path.
#[must_use]
pub fn head_bytes<B>(request: &Request<B>) -> usize {
    let in_fields: usize = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    let in_path = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    in_fields + in_path
}
