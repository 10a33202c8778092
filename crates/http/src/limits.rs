//! Limits of a listener: connections, timeouts, and the size of request heads.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use http::Request;
use hyper::rt::{Sleep, Timer};
use pin_project_lite::pin_project;
use tokio::sync::Semaphore;

/// The maximum number of header fields. It is the default of hyper, which allocates 16 KiB per request for a higher
/// one. hyper refuses a request with more, and closes the connection.
pub const MOST_FIELDS: usize = 100;
/// The maximum bytes of all fields and the path.
pub const MOST_BYTES: usize = 32 * 1024;

/// Above this, hyper responds with a bare 431 and closes the connection. Larger than `MOST_BYTES`, so that most
/// oversized heads get a response that names the limits.
pub(crate) const PARSED_BYTES: usize = 64 * 1024;

/// Limits of one port.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Concurrent connections; at least 1.
    pub most: usize,
    /// Concurrent connections from one address, for IPv6 from one network of 64 bits. Further ones are closed. At least
    /// 1.
    pub most_per_address: usize,
    /// Timeout of a request's head from its first byte (of a connection's first request, from the connection), and of a
    /// TLS handshake.
    pub head_timeout: Duration,
    /// How long an HTTP/1.1 connection stays open without a request. While all connections are in use, `head_timeout`
    /// if that is shorter.
    pub idle_timeout: Duration,
    /// Timeout of a write that makes no progress.
    pub stall_timeout: Duration,
    /// How long running requests may go on after the stop.
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

/// Returns the bytes of a request's fields and path.
#[must_use]
pub fn head_bytes<B>(request: &Request<B>) -> usize {
    let in_fields: usize = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    let in_path = request.uri().path_and_query().map_or(0, |path| path.as_str().len());
    in_fields + in_path
}

/// Closes an idle HTTP/1.1 connection. hyper starts it when it begins to wait for a request's head, and never during a
/// response. While all connections are in use, idle ones are closed early, so that new ones don't wait for long.
#[derive(Clone)]
pub(crate) struct IdleTimer {
    /// The time between two checks whether all connections are in use.
    check_interval: Duration,
    idle_timeout: Duration,
    /// One permit for each connection.
    slots: Arc<Semaphore>,
}

impl IdleTimer {
    pub(crate) fn new(limits: ConnectionLimits, slots: Arc<Semaphore>) -> Self {
        let ConnectionLimits { head_timeout, idle_timeout, .. } = limits;
        Self { check_interval: head_timeout.min(idle_timeout), idle_timeout, slots }
    }

    pub(crate) const fn check_interval(&self) -> Duration {
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
