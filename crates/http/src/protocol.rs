//! The settings of HTTP/1.1 and HTTP/2.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use hyper::rt::{Sleep, Timer};
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioTimer};
use pin_project_lite::pin_project;
use tokio::sync::Semaphore;

use crate::limits::{self, ConnectionLimits};

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

/// Closes an idle HTTP/1.1 connection. hyper starts it when it begins to wait for a request's head, and never during a
/// response. While all connections are in use, idle ones are closed early, so that new ones don't wait for long.
#[derive(Clone)]
struct IdleTimer {
    /// The time between two checks whether all connections are in use.
    check_interval: Duration,
    idle_timeout: Duration,
    /// One permit for each connection.
    slots: Arc<Semaphore>,
}

impl IdleTimer {
    fn new(limits: ConnectionLimits, slots: Arc<Semaphore>) -> Self {
        let ConnectionLimits { head_timeout, idle_timeout, .. } = limits;
        Self { check_interval: head_timeout.min(idle_timeout), idle_timeout, slots }
    }

    const fn check_interval(&self) -> Duration {
        self.check_interval
    }
}

impl Timer for IdleTimer {
    fn sleep(&self, duration: Duration) -> Pin<Box<dyn Sleep>> {
        self.sleep_until(self.now() + duration)
    }

    /// `deadline` is the time of the first check, `check_interval` after the connection has become idle.
    fn sleep_until(&self, deadline: Instant) -> Pin<Box<dyn Sleep>> {
        let idle_timeout = deadline + self.idle_timeout.saturating_sub(self.check_interval);
        Box::pin(Idle { next_check: tokio::time::sleep_until(deadline.into()), idle_timeout, timer: self.clone() })
    }
}

pin_project! {
    struct Idle {
        #[pin]
        next_check: tokio::time::Sleep,
        idle_timeout: Instant,
        timer: IdleTimer,
    }
}

impl Sleep for Idle {}

impl Future for Idle {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut this = self.project();
        loop {
            ready!(this.next_check.as_mut().poll(cx));
            let now = Instant::now();
            let all_in_use = this.timer.slots.available_permits() == 0;
            if all_in_use || now >= *this.idle_timeout {
                return Poll::Ready(());
            }
            let next = (now + this.timer.check_interval).min(*this.idle_timeout);
            this.next_check.as_mut().reset(next.into());
        }
    }
}
