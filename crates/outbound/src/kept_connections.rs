//! Connections that nothing is under way on, for the next request; each as long as its server keeps it, too.

use std::fmt;
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, StatusCode};
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1::SendRequest;
use parking_lot::Mutex;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;
use tower::BoxError;

use crate::answer_bound::Allowance;

/// Many servers close a quiet connection after 5 s: one that is used when they do looks like a cut answer.
pub(crate) const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

/// How long none is kept after a request on a kept one got no answer. Its server closes connections at any time, or
/// writes more than an answer: each further request on one of them might be lost, too.
const DISTRUST: Duration = Duration::from_secs(10);
/// At most this many are closed in place of being kept: the port of each is in use for another minute.
const MOST_CLOSED: usize = 500;

const MOST_IDLE: usize = 256;
/// Answers with few headers.
const IN_VAIN: usize = 100;

/// Closed when dropped, whatever is under way on it.
pub(crate) struct OpenConnection {
    pub(crate) requests: SendRequest<Full<Bytes>>,
    pub(crate) task: AbortOnDropHandle<()>,
    /// How long it may be kept after its latest answer.
    pub(crate) idle_time: Duration,
    /// Which costs memory for each answer.
    pub(crate) reads_many_headers: bool,
    /// How many have come on it.
    pub(crate) answers: usize,
    pub(crate) allowance: Allowance,
}

impl OpenConnection {
    /// One that reads many headers in vain is replaced once, when it has been used for long.
    fn reads(&self, many_headers: bool) -> bool {
        if many_headers { self.reads_many_headers } else { !self.reads_many_headers || self.answers < IN_VAIN }
    }

    fn is_quiet_too_long(&self, since: Instant) -> bool {
        self.requests.is_closed() || since.elapsed() >= self.idle_time
    }

    /// One that nothing is under way on, as its protocol closes it.
    fn close(self) {
        self.task.detach();
    }
}

/// The connection of a request, until its answer has been read. Closed when dropped, also where the server has not read
/// the request.
pub struct UsedConnection {
    connection: OpenConnection,
    kept: Arc<KeptConnections>,
}

/// The last is used next, so that no more are kept than are needed.
#[derive(Default)]
pub(crate) struct KeptConnections(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    connections: Vec<(OpenConnection, Instant)>,
    /// Whether a task closes those that are quiet.
    is_watched: bool,
    /// Until then none is kept, and this many at most aren't.
    distrusted: Option<(Instant, usize)>,
}

impl Kept {
    fn is_distrusted(&mut self) -> bool {
        self.distrusted = self.distrusted.filter(|(until, left)| *left > 0 && Instant::now() < *until);
        if let Some((_, left)) = &mut self.distrusted {
            *left -= 1;
        }
        self.distrusted.is_some()
    }
}

impl KeptConnections {
    /// One that reads many headers, or one that needn't; the others are closed.
    pub(crate) fn take(&self, many_headers: bool) -> Option<OpenConnection> {
        let mut kept = self.0.lock();
        while let Some((connection, since)) = kept.connections.pop() {
            let is_of_use = connection.requests.is_ready() && !connection.is_quiet_too_long(since);
            if is_of_use && connection.reads(many_headers) {
                return Some(connection);
            }
            connection.close();
        }
        None
    }

    pub(crate) fn put(self: &Arc<Self>, connection: OpenConnection) {
        let mut kept = self.0.lock();
        if kept.is_distrusted() || kept.connections.len() >= MOST_IDLE {
            return connection.close();
        }
        kept.connections.push((connection, Instant::now()));
        if !kept.is_watched {
            kept.is_watched = true;
            tokio::spawn(close_quiet(Arc::downgrade(self)));
        }
    }

    /// After a request on one of them got no answer.
    pub(crate) fn distrust(&self) {
        let mut kept = self.0.lock();
        kept.distrusted = Some((Instant::now() + DISTRUST, MOST_CLOSED));
        kept.connections.drain(..).for_each(|(connection, _)| connection.close());
    }

    /// Whether some are left.
    fn close_quiet(&self) -> bool {
        let mut kept = self.0.lock();
        let quiet = kept.connections.extract_if(.., |(connection, since)| connection.is_quiet_too_long(*since));
        quiet.for_each(|(connection, _)| connection.close());
        kept.is_watched = !kept.connections.is_empty();
        kept.is_watched
    }
}

impl UsedConnection {
    pub(crate) const fn new(connection: OpenConnection, kept: Arc<KeptConnections>) -> Self {
        Self { connection, kept }
    }

    /// Reads an answer of at most `most` bytes to its end, and keeps the connection.
    ///
    /// # Errors
    /// When the body is cut off, or larger.
    pub async fn read(self, body: Incoming, most: usize) -> Result<Bytes, BoxError> {
        self.bound_body(most as u64);
        let body = Limited::new(body, most).collect().await?.to_bytes();
        self.keep();
        Ok(body)
    }

    /// What comes of an answer whose body has more than `most` bytes isn't read to its end. Read the body only after
    /// this.
    pub fn bound_body(&self, most: u64) {
        self.connection.allowance.allow_body(most);
    }

    /// For the next request, once the whole answer has been read.
    pub fn keep(self) {
        let Self { mut connection, kept } = self;
        if connection.requests.is_ready() {
            return kept.put(connection);
        }
        if !connection.requests.is_closed() {
            // The request is still being sent. A server that never reads it keeps nothing for long.
            tokio::spawn(async move {
                if let Ok(Ok(())) = timeout(IDLE_TIMEOUT, connection.requests.ready()).await {
                    kept.put(connection);
                }
            });
        }
    }
}

impl fmt::Debug for UsedConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UsedConnection").finish_non_exhaustive()
    }
}

async fn close_quiet(kept: Weak<KeptConnections>) {
    loop {
        sleep(IDLE_TIMEOUT / 4).await;
        if !kept.upgrade().is_some_and(|kept| kept.close_quiet()) {
            return;
        }
    }
}

/// After an answer: shorter where its server closes earlier (`Keep-Alive: timeout=N`). The rest of that time is left to
/// a request on its way there. None where a body is announced that the protocol doesn't allow: what comes would be
/// taken for the next answer.
pub(crate) fn idle_time(status: StatusCode, headers: &HeaderMap) -> Duration {
    if status == StatusCode::NO_CONTENT && announces_body(headers) {
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
