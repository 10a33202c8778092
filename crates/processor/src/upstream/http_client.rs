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
use tokio::time::{Instant, sleep};
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

type Requests = SendRequest<Full<Bytes>>;

/// Of one scheme, host and port.
pub(crate) struct HttpClient {
    dial: Arc<Dial>,
    /// Of one of its upstreams.
    url: Uri,
    host: HeaderValue,
    kept: Arc<KeptConnections>,
}

/// The connection of a call, until its answer has been read.
pub(crate) struct UsedConnection {
    requests: Requests,
    kept: Arc<KeptConnections>,
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
        while let Some(requests) = self.kept.take() {
            let mut used = UsedConnection { requests, kept: Arc::clone(&self.kept) };
            match used.requests.try_send_request(request).await {
                Ok(answer) => return Ok((answer, used)),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(error.into_error().into()),
                },
            }
        }
        // Apart, as it is rare: so each call takes less memory.
        let mut used = UsedConnection { requests: Box::pin(self.connect()).await?, kept: Arc::clone(&self.kept) };
        let answer = used.requests.send_request(request).await?;
        Ok((answer, used))
    }

    async fn connect(&self) -> Result<Requests, RequestError> {
        let connection = self.dial.connect(self.url.clone()).await.map_err(RequestError::Unconnected)?;
        let (requests, connection) = http1::Builder::new().max_buf_size(READ_BUFFER).handshake(connection).await?;
        // Its end is seen by who sends a request.
        tokio::spawn(async move { drop(connection.await) });
        Ok(requests)
    }
}

impl UsedConnection {
    /// For the next call, once the whole answer has been read.
    pub(crate) fn keep(self) {
        let Self { mut requests, kept } = self;
        if requests.is_ready() {
            return kept.put(requests);
        }
        if !requests.is_closed() {
            // The request is still being sent.
            tokio::spawn(async move {
                if requests.ready().await.is_ok() {
                    kept.put(requests);
                }
            });
        }
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
    connections: Vec<(Requests, Instant)>,
    /// Whether a task closes those that are quiet.
    is_watched: bool,
}

impl KeptConnections {
    fn take(&self) -> Option<Requests> {
        let mut kept = self.locked();
        while let Some((requests, since)) = kept.connections.pop() {
            if requests.is_ready() && since.elapsed() < IDLE_TIMEOUT {
                return Some(requests);
            }
        }
        None
    }

    fn put(self: &Arc<Self>, requests: Requests) {
        let mut kept = self.locked();
        if kept.connections.len() >= MOST_IDLE {
            return;
        }
        kept.connections.push((requests, Instant::now()));
        if !kept.is_watched {
            kept.is_watched = true;
            tokio::spawn(close_quiet(Arc::downgrade(self)));
        }
    }

    /// Whether some are left.
    fn close_quiet(&self) -> bool {
        let mut kept = self.locked();
        kept.connections.retain(|(requests, since)| !requests.is_closed() && since.elapsed() < IDLE_TIMEOUT);
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
