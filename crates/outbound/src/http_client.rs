//! Requests to one origin, over connections that are kept for the next request.
//!
//! A request is sent once. Only one of which no byte was written is sent again: over a kept connection that the server
//! had closed meanwhile. Without this an upstream's keep-alive would cost jobs their attempts. Where one got no answer
//! over a kept connection, the following ones are sent over new connections for a while.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::header::HOST;
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderValue, Request, Response, Uri};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio_util::task::AbortOnDropHandle;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service, ServiceExt as _};

use crate::answer_bound::{Allowance, BoundedConnection};
use crate::kept_connections::{IDLE_TIMEOUT, KeptConnections, OpenConnection, UsedConnection, idle_time};

/// An answer is read in pieces of at most this. Once that much of a head is there without its end, it is refused; the
/// last piece may bring as much again, so one of less than twice the size may pass.
const READ_BUFFER: usize = 64 * 1024;
/// Of an answer: more than servers send. hyper allocates 16 KiB for each answer where it reads that many, and nothing
/// where it reads 100: so a connection has room for many only while its origin may be one that sends many.
const MOST_HEADERS: usize = 256;
const MANY_HEADERS: usize = 50;

/// Over TLS or without.
pub type Connection = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Makes connections to the host and port of a URL.
#[derive(Debug)]
pub struct Dial(BoxCloneSyncService<Uri, Connection, BoxError>);

/// Why no answer came.
#[derive(Debug, Error)]
pub enum RequestError {
    #[error("no connection")]
    Unconnected(#[source] BoxError),
    #[error("the request was not answered")]
    Unanswered(#[from] hyper::Error),
}

/// Of one scheme, host and port. Its requests have no timeout: drop one that takes too long.
pub struct HttpClient {
    dial: Arc<Dial>,
    /// Of one of its resources.
    url: Uri,
    host: HeaderValue,
    kept: Arc<KeptConnections>,
    /// The most headers of an answer so far; 0: none has come yet.
    headers_seen: AtomicUsize,
}

impl Dial {
    /// Such as one of `hyper_rustls`.
    pub fn new<S>(connector: S) -> Self
    where
        S: Service<Uri, Response = Connection, Error = BoxError> + Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
    {
        Self(BoxCloneSyncService::new(connector))
    }

    pub(crate) async fn connect(&self, url: Uri) -> Result<Connection, BoxError> {
        self.0.clone().oneshot(url).await
    }
}

impl HttpClient {
    /// `url`: of any resource of the origin.
    #[must_use]
    pub fn new(dial: Arc<Dial>, url: Uri) -> Self {
        Self { host: host_of(&url), dial, url, kept: Arc::default(), headers_seen: AtomicUsize::new(0) }
    }

    /// The head of the answer, and the connection that its body comes on. Of the request's URL only path and query
    /// count.
    ///
    /// # Errors
    /// When no connection could be made, or it ended before an answer came.
    pub async fn request(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(Response<Incoming>, UsedConnection), RequestError> {
        let path = request.uri().path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        *request.uri_mut() = Uri::from(path);
        request.headers_mut().entry(HOST).or_insert_with(|| self.host.clone());
        while let Some(mut connection) = self.kept.take(self.may_send_many_headers()) {
            connection.allowance.allow_head();
            match connection.requests.try_send_request(request).await {
                Ok(answer) => return Ok(self.answered(answer, connection)),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => {
                        self.kept.distrust();
                        return Err(self.unanswered(error.into_error()));
                    }
                },
            }
        }
        // Apart, as it is rare: so each call takes less memory.
        let mut connection = Box::pin(self.connect()).await?;
        let answer = connection.requests.send_request(request).await.map_err(|error| self.unanswered(error))?;
        Ok(self.answered(answer, connection))
    }

    fn may_send_many_headers(&self) -> bool {
        let seen = self.headers_seen.load(Ordering::Relaxed);
        seen == 0 || seen > MANY_HEADERS
    }

    fn unanswered(&self, error: hyper::Error) -> RequestError {
        if error.is_parse_too_large() {
            self.headers_seen.fetch_max(MOST_HEADERS, Ordering::Relaxed);
        }
        error.into()
    }

    fn answered(
        &self,
        answer: Response<Incoming>,
        mut connection: OpenConnection,
    ) -> (Response<Incoming>, UsedConnection) {
        connection.idle_time = idle_time(answer.status(), answer.headers());
        connection.answers += 1;
        self.headers_seen.fetch_max(answer.headers().len().max(1), Ordering::Relaxed);
        // Until who reads it says how much: a stream has no bound.
        connection.allowance.allow_body(u64::MAX);
        (answer, UsedConnection::new(connection, Arc::clone(&self.kept)))
    }

    async fn connect(&self) -> Result<OpenConnection, RequestError> {
        let connection = self.dial.connect(self.url.clone()).await.map_err(RequestError::Unconnected)?;
        let mut protocol = http1::Builder::new();
        protocol.max_buf_size(READ_BUFFER);
        let reads_many_headers = self.may_send_many_headers();
        if reads_many_headers {
            protocol.max_headers(MOST_HEADERS);
        }
        // Some servers still fold long lines, which is for who reads them to undo (RFC 9112, 5.2).
        protocol.allow_obsolete_multiline_headers_in_responses(true);
        let allowance = Allowance::default();
        allowance.allow_head();
        let connection = BoundedConnection::new(TokioIo::new(connection), allowance.clone());
        let (requests, connection) = protocol.handshake(TokioIo::new(connection)).await?;
        // Its end is seen by who sends a request.
        let task = AbortOnDropHandle::new(tokio::spawn(async move { drop(connection.await) }));
        Ok(OpenConnection { requests, task, idle_time: IDLE_TIMEOUT, reads_many_headers, answers: 0, allowance })
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").field("host", &self.host).finish_non_exhaustive()
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
