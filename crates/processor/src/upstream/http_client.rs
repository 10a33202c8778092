//! Calls the upstreams of one origin, over connections that are kept for the next call.
//!
//! One attempt is one request that the upstream could have seen. Only a request of which no byte was written is sent
//! again: over a kept connection that the upstream had closed meanwhile. Without this an upstream's keep-alive would
//! cost jobs their attempts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use http::header::HOST;
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use thiserror::Error;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;
use tower::BoxError;

use crate::upstream::dial::Dial;

/// Many servers close a quiet connection after 5 s: one that is used when they do looks like a cut answer.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);
const MOST_IDLE: usize = 256;

/// An answer's head, and what of its body is buffered before it is read. Its headers are at most 100, hyper's own
/// bound.
const READ_BUFFER: usize = 64 * 1024;

/// Why no answer came.
#[derive(Debug, Error)]
pub(crate) enum RequestError {
    #[error("can't connect to the upstream")]
    Unconnected(#[source] BoxError),
    #[error("the request was not answered")]
    Unanswered(#[from] hyper::Error),
}

/// Of one scheme, host and port.
pub(crate) struct HttpClient {
    dial: Arc<Dial>,
    /// Of one of its upstreams.
    url: Uri,
    host: HeaderValue,
    kept: Arc<KeptConnections>,
}

/// The connection of a call, until its answer has been read. Closed when dropped, also where the upstream has not read
/// the request.
pub(crate) struct UsedConnection {
    connection: Connection,
    kept: Arc<KeptConnections>,
}

struct Connection {
    requests: SendRequest<Full<Bytes>>,
    task: AbortOnDropHandle<()>,
}

impl HttpClient {
    pub(super) fn new(dial: Arc<Dial>, url: Uri) -> Self {
        Self { host: host_of(&url), dial, url, kept: Arc::default() }
    }

    /// The head of the answer, and the connection that its body comes on.
    ///
    /// # Errors
    /// When no connection could be made, or it ended before an answer came.
    pub(crate) async fn request(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(Response<Incoming>, UsedConnection), RequestError> {
        let path = request.uri().path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        *request.uri_mut() = Uri::from(path);
        request.headers_mut().entry(HOST).or_insert_with(|| self.host.clone());
        while let Some(mut connection) = self.kept.take() {
            match connection.requests.try_send_request(request).await {
                Ok(answer) => return Ok((answer, self.used(connection))),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(error.into_error().into()),
                },
            }
        }
        // Apart, as it is rare: so each call takes less memory.
        let mut connection = Box::pin(self.connect()).await?;
        let answer = connection.requests.send_request(request).await?;
        Ok((answer, self.used(connection)))
    }

    fn used(&self, connection: Connection) -> UsedConnection {
        UsedConnection { connection, kept: Arc::clone(&self.kept) }
    }

    async fn connect(&self) -> Result<Connection, RequestError> {
        let connection = self.dial.connect(self.url.clone()).await.map_err(RequestError::Unconnected)?;
        let (requests, connection) = http1::Builder::new().max_buf_size(READ_BUFFER).handshake(connection).await?;
        // Its end is seen by who sends a request.
        let task = AbortOnDropHandle::new(tokio::spawn(async move { drop(connection.await) }));
        Ok(Connection { requests, task })
    }
}

impl UsedConnection {
    /// For the next call, once the whole answer has been read.
    pub(crate) fn keep(self) {
        let Self { mut connection, kept } = self;
        if connection.requests.is_ready() {
            return kept.put(connection);
        }
        if !connection.requests.is_closed() {
            // The request is still being sent. An upstream that never reads it holds nothing for long.
            tokio::spawn(async move {
                if let Ok(Ok(())) = timeout(IDLE_TIMEOUT, connection.requests.ready()).await {
                    kept.put(connection);
                }
            });
        }
    }
}

impl Connection {
    fn is_quiet_too_long(&self, since: Instant) -> bool {
        self.requests.is_closed() || since.elapsed() >= IDLE_TIMEOUT
    }

    /// One that nothing is under way on, as its protocol closes it.
    fn close(self) {
        self.task.detach();
    }
}

/// As requests name it: without the port that its scheme has anyway.
fn host_of(url: &Uri) -> HeaderValue {
    let default = if url.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    let host = url.host().unwrap_or_default();
    let host = match url.port_u16() {
        Some(port) if port != default => format!("{host}:{port}"),
        _ => host.to_owned(),
    };
    // A host that was parsed is a valid header.
    HeaderValue::try_from(host).unwrap_or_else(|_| HeaderValue::from_static(""))
}

/// The last is used next, so that no more are kept than are needed.
#[derive(Default)]
struct KeptConnections(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    connections: Vec<(Connection, Instant)>,
    /// Whether a task closes those that are quiet.
    is_watched: bool,
}

impl KeptConnections {
    fn take(&self) -> Option<Connection> {
        let mut kept = self.locked();
        while let Some((connection, since)) = kept.connections.pop() {
            if connection.requests.is_ready() && !connection.is_quiet_too_long(since) {
                return Some(connection);
            }
            connection.close();
        }
        None
    }

    fn put(self: &Arc<Self>, connection: Connection) {
        let mut kept = self.locked();
        if kept.connections.len() >= MOST_IDLE {
            return connection.close();
        }
        kept.connections.push((connection, Instant::now()));
        if !kept.is_watched {
            kept.is_watched = true;
            tokio::spawn(close_quiet(Arc::downgrade(self)));
        }
    }

    /// Whether some are left.
    fn close_quiet(&self) -> bool {
        let mut kept = self.locked();
        let quiet = kept.connections.extract_if(.., |(connection, since)| connection.is_quiet_too_long(*since));
        quiet.for_each(|(connection, _)| connection.close());
        kept.is_watched = !kept.connections.is_empty();
        kept.is_watched
    }

    fn locked(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
