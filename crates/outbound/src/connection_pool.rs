//! Idle connections, which are kept for the next request, at most as long as their server keeps them.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, Method, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;
use tower::BoxError;

use crate::response_limit::Allowance;

/// Shorter than the 5 s after which many servers close an idle connection. A request that is sent then fails.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// How long no connection is kept after a request on a kept one got no response. Its server may close connections at
/// any time, or send more than a response, so that further requests on kept connections would fail, too.
const SUSPENSION: Duration = Duration::from_secs(10);
/// Maximum number of connections that are closed meanwhile, because each occupies its port for another minute.
const MOST_CLOSED: usize = 500;

const MOST_IDLE: usize = 256;
/// After this many responses, a connection that reads many headers is replaced if few are enough.
const MAX_ANSWERS_WITH_MANY_HEADERS: usize = 100;

/// An open connection. Dropping it closes it, also during a request.
pub(crate) struct OpenConnection {
    pub(crate) requests: SendRequest<Full<Bytes>>,
    pub(crate) task: AbortOnDropHandle<()>,
    /// How long it may be kept after its last response.
    pub(crate) idle_time: Duration,
    /// Whether it reads `MOST_HEADERS`, which needs memory for each response.
    pub(crate) reads_many_headers: bool,
    /// The number of responses so far.
    pub(crate) answers: usize,
    pub(crate) allowance: Allowance,
}

impl OpenConnection {
    /// Whether it can be used for the next request. If few headers are enough, it is still used for some responses when
    /// it reads many.
    fn fits(&self, many_headers: bool) -> bool {
        if many_headers {
            self.reads_many_headers
        } else {
            !self.reads_many_headers || self.answers < MAX_ANSWERS_WITH_MANY_HEADERS
        }
    }

    fn is_idle_too_long(&self, since: Instant) -> bool {
        self.requests.is_closed() || since.elapsed() >= self.idle_time
    }

    /// Closes an idle connection gracefully.
    fn close(self) {
        self.task.detach();
    }
}

/// The connection of a request, until its response has been read. Dropping it closes the connection, also if the server
/// hasn't read the request yet.
pub struct PooledConnection {
    connection: OpenConnection,
    pool: Arc<ConnectionPool>,
}

/// A stack of connections: the last one is used next, so that unneeded ones time out.
#[derive(Default)]
pub(crate) struct ConnectionPool(Mutex<PoolState>);

#[derive(Default)]
struct PoolState {
    connections: Vec<(OpenConnection, Instant)>,
    /// Whether a task is running that closes idle connections.
    is_watched: bool,
    /// Until when no connection is kept, and the number of connections that may still be closed for that.
    suspended: Option<(Instant, usize)>,
}

impl PoolState {
    fn is_suspended(&mut self) -> bool {
        self.suspended = self.suspended.filter(|(until, left)| *left > 0 && Instant::now() < *until);
        if let Some((_, left)) = &mut self.suspended {
            *left -= 1;
        }
        self.suspended.is_some()
    }
}

impl ConnectionPool {
    /// Takes a usable connection that reads many headers, if needed. Closes the others on the way.
    pub(crate) fn take(&self, many_headers: bool) -> Option<OpenConnection> {
        let mut state = self.0.lock();
        while let Some((connection, since)) = state.connections.pop() {
            let is_usable = connection.requests.is_ready() && !connection.is_idle_too_long(since);
            if is_usable && connection.fits(many_headers) {
                return Some(connection);
            }
            connection.close();
        }
        None
    }

    pub(crate) fn put(self: &Arc<Self>, connection: OpenConnection) {
        let mut state = self.0.lock();
        if state.is_suspended() || state.connections.len() >= MOST_IDLE {
            return connection.close();
        }
        state.connections.push((connection, Instant::now()));
        if !state.is_watched {
            state.is_watched = true;
            tokio::spawn(close_idle(Arc::downgrade(self)));
        }
    }

    /// Closes all connections, and keeps none for a while, after a request on one of them got no response.
    pub(crate) fn suspend(&self) {
        let mut state = self.0.lock();
        state.suspended = Some((Instant::now() + SUSPENSION, MOST_CLOSED));
        state.connections.drain(..).for_each(|(connection, _)| connection.close());
    }

    /// Closes connections that were idle for too long. Returns whether others are left.
    fn close_idle(&self) -> bool {
        let mut state = self.0.lock();
        let idle = state.connections.extract_if(.., |(connection, since)| connection.is_idle_too_long(*since));
        idle.for_each(|(connection, _)| connection.close());
        state.is_watched = !state.connections.is_empty();
        state.is_watched
    }
}

impl PooledConnection {
    pub(crate) const fn new(connection: OpenConnection, pool: Arc<ConnectionPool>) -> Self {
        Self { connection, pool }
    }

    /// Reads a body of at most `most` bytes to its end, and keeps the connection.
    ///
    /// # Errors
    /// When the body is cut off, or larger.
    pub async fn read(self, body: Incoming, most: usize) -> Result<Bytes, BoxError> {
        self.bound_body(most as u64);
        let body = Limited::new(body, most).collect().await?.to_bytes();
        self.keep();
        Ok(body)
    }

    /// Makes reading the body fail if it has more than `most` bytes, with some tolerance. To be called before the body
    /// is read.
    pub fn bound_body(&self, most: u64) {
        self.connection.allowance.allow_body(most);
    }

    /// Keeps the connection for the next request. To be called when the response has been read to its end.
    pub fn keep(self) {
        let Self { mut connection, pool } = self;
        if connection.requests.is_ready() {
            return pool.put(connection);
        }
        if !connection.requests.is_closed() {
            // The request is still being sent, so waits for its end, but not for long.
            tokio::spawn(async move {
                if let Ok(Ok(())) = timeout(IDLE_TIMEOUT, connection.requests.ready()).await {
                    pool.put(connection);
                }
            });
        }
    }
}

impl fmt::Debug for PooledConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PooledConnection").finish_non_exhaustive()
    }
}

async fn close_idle(pool: Weak<ConnectionPool>) {
    loop {
        sleep(IDLE_TIMEOUT / 4).await;
        if !pool.upgrade().is_some_and(|pool| pool.close_idle()) {
            return;
        }
    }
}

/// Returns how long a connection may be kept after a response: at most 4/5 of the server's `Keep-Alive: timeout=N`, so
/// that a request arrives before it closes the connection. Zero if a response that has no body announces one: some
/// servers send it nevertheless, and it would be read as the next response.
pub(crate) fn idle_time(request: &Method, status: StatusCode, headers: &HeaderMap) -> Duration {
    let has_no_body = request == Method::HEAD || [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&status);
    if has_no_body && announces_body(headers) {
        return Duration::ZERO;
    }
    let lines = headers.get_all(KEEP_ALIVE).iter().filter_map(|line| line.to_str().ok());
    let times = lines.flat_map(|line| line.split(',')).filter_map(timeout_of);
    times.map(|time| time.saturating_mul(4) / 5).min().map_or(IDLE_TIMEOUT, |time| time.min(IDLE_TIMEOUT))
}

fn announces_body(headers: &HeaderMap) -> bool {
    headers.contains_key(TRANSFER_ENCODING) || headers.get(CONTENT_LENGTH).is_some_and(|length| length != "0")
}

fn timeout_of(parameter: &str) -> Option<Duration> {
    let (name, value) = parameter.split_once('=')?;
    let seconds = value.trim().trim_matches('"').parse().ok()?;
    name.trim().eq_ignore_ascii_case("timeout").then(|| Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests;
