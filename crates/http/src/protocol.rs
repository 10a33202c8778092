//! The settings of HTTP/1.1 and HTTP/2.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::sync::Semaphore;

use crate::limits::{self, ConnectionLimits, IdleTimer};

/// The HTTP version of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HttpVersion {
    One,
    Two,
}

/// The maximum of concurrent requests on an HTTP/2 connection.
const STREAMS: u32 = 128;
/// In bytes: the same as for the head of an HTTP/1.1 request.
const HEADER_LIST: u32 = 64 * 1024;

pub(crate) enum Protocol {
    One(http1::Builder),
    Two { http: http2::Builder<TokioExecutor>, read_timeout: Duration },
}

impl Protocol {
    /// `slots` has a permit for each connection.
    pub(crate) fn new(version: HttpVersion, limits: ConnectionLimits, slots: Arc<Semaphore>) -> Self {
        match version {
            HttpVersion::One => {
                let idle = IdleTimer::new(limits, slots);
                let mut http = http1::Builder::new();
                http.header_read_timeout(idle.check_interval()).timer(idle).max_buf_size(limits::PARSED_BYTES);
                Self::One(http)
            }
            HttpVersion::Two => {
                let timeout = limits.head_timeout;
                let mut http = http2::Builder::new(TokioExecutor::new());
                http.timer(TokioTimer::new())
                    .keep_alive_interval(Some(timeout))
                    .keep_alive_timeout(timeout)
                    .max_concurrent_streams(STREAMS)
                    .max_header_list_size(HEADER_LIST);
                Self::Two { http, read_timeout: timeout * 2 }
            }
        }
    }

    pub(crate) const fn version(&self) -> HttpVersion {
        match self {
            Self::One(_) => HttpVersion::One,
            Self::Two { .. } => HttpVersion::Two,
        }
    }

    /// Returns the timeout of a read, during which an idle HTTP/2 client responds to pings. Returns `None` for
    /// HTTP/1.1, which has no pings, and separate timeouts for heads and bodies.
    pub(crate) const fn read_timeout(&self) -> Option<Duration> {
        match self {
            Self::One(_) => None,
            Self::Two { read_timeout, .. } => Some(*read_timeout),
        }
    }
}
