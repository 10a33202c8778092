//! The versions of HTTP: what each is set to.

use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioTimer};

use super::{ConnectionLimits, Version};
use crate::head;

/// Requests at once on one connection.
const STREAMS: u32 = 128;
/// As much as the head of a request in HTTP/1.1.
const HEADER_LIST: u32 = 64 * 1024;

#[derive(Clone)]
pub(super) enum Http {
    One(Arc<http1::Builder>),
    Two { http: http2::Builder<TokioExecutor>, silence: Duration },
}

impl Http {
    pub(super) fn new(version: Version, limits: ConnectionLimits) -> Self {
        let patience = limits.head_timeout;
        match version {
            Version::One => {
                let mut http = http1::Builder::new();
                http.timer(TokioTimer::new())
                    .header_read_timeout(patience)
                    .max_headers(head::PARSED_FIELDS)
                    .max_buf_size(head::PARSED_BYTES);
                Self::One(Arc::new(http))
            }
            Version::Two => {
                let mut http = http2::Builder::new(TokioExecutor::new());
                http.timer(TokioTimer::new())
                    .keep_alive_interval(Some(patience))
                    .keep_alive_timeout(patience)
                    .max_concurrent_streams(STREAMS)
                    .max_header_list_size(HEADER_LIST);
                Self::Two { http, silence: patience * 2 }
            }
        }
    }

    pub(super) const fn version(&self) -> Version {
        match self {
            Self::One(_) => Version::One,
            Self::Two { .. } => Version::Two,
        }
    }

    /// The longest that nothing may come. In HTTP/2 whoever is idle answers pings meanwhile; in HTTP/1.1 there are none, and
    /// heads and bodies have times of their own.
    pub(super) const fn silence(&self) -> Option<Duration> {
        match self {
            Self::One(_) => None,
            Self::Two { silence, .. } => Some(*silence),
        }
    }
}
