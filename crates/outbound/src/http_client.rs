//! Requests to one origin, with connections that are kept for the next request.
//!
//! A request is sent once. It is only sent again if no byte was written because the server had closed the kept
//! connection; otherwise an upstream's keep-alive timeout would cost jobs their attempts. After a request on a kept
//! connection got no response, the following ones use new connections for a while.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use http::header::HOST;
use http::uri::{PathAndQuery, Scheme};
use http::{HeaderValue, Method, Request, Response, Uri};
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

use crate::connection_pool::{ConnectionPool, IDLE_TIMEOUT, OpenConnection, PooledConnection, idle_time};
use crate::response_limit::{Allowance, BoundedConnection};

/// Size of the read buffer. A head that isn't complete after this many bytes is refused; as the last read may return as
/// many again, one of less than twice the size may pass.
const READ_BUFFER: usize = 64 * 1024;
/// Maximum number of headers of a response, more than servers send. With this maximum hyper allocates 16 KiB for each
/// response, with its default of 100 nothing. So a connection has it only if the origin may send more than
/// `MANY_HEADERS`.
const MOST_HEADERS: usize = 256;
const MANY_HEADERS: usize = 50;

/// A connection with or without TLS.
pub type Connection = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Opens connections to the host and port of a URL.
#[derive(Debug)]
pub struct Dial(BoxCloneSyncService<Uri, Connection, BoxError>);

/// Why no response came.
#[derive(Debug, Error)]
pub enum RequestError {
    #[error("no connection")]
    Unconnected(#[source] BoxError),
    #[error("the request was not answered")]
    Unanswered(#[from] hyper::Error),
}

/// A client for one scheme, host and port. Requests have no timeout; dropping one cancels it.
pub struct HttpClient {
    dial: Arc<Dial>,
    /// The URL of any resource of the origin.
    url: Uri,
    host: HeaderValue,
    pool: Arc<ConnectionPool>,
    /// The highest number of headers of a response so far, at least 1; 0 before the first response.
    headers_seen: AtomicUsize,
}

impl Dial {
    /// Creates it with a connector, such as one of `hyper_rustls`.
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
    /// Creates a client for the origin of `url`.
    #[must_use]
    pub fn new(dial: Arc<Dial>, url: Uri) -> Self {
        Self { host: host_of(&url), dial, url, pool: Arc::default(), headers_seen: AtomicUsize::new(0) }
    }

    /// Sends a request. Returns the head of the response, and the connection for reading its body. Of the request's
    /// URL, only path and query are used.
    ///
    /// # Errors
    /// When no connection could be opened, or it ended before a response came.
    pub async fn request(
        &self,
        mut request: Request<Full<Bytes>>,
    ) -> Result<(Response<Incoming>, PooledConnection), RequestError> {
        let path = request.uri().path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
        *request.uri_mut() = Uri::from(path);
        request.headers_mut().entry(HOST).or_insert_with(|| self.host.clone());
        let method = request.method().clone();
        while let Some(mut connection) = self.pool.take(self.may_send_many_headers()) {
            connection.allowance.allow_head();
            match connection.requests.try_send_request(request).await {
                Ok(answer) => return Ok(self.answered(&method, answer, connection)),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => {
                        self.pool.suspend();
                        return Err(self.unanswered(error.into_error()));
                    }
                },
            }
        }
        // Boxed, because it is rare, so that the future of a request is smaller.
        let mut connection = Box::pin(self.connect()).await?;
        let answer = connection.requests.send_request(request).await.map_err(|error| self.unanswered(error))?;
        Ok(self.answered(&method, answer, connection))
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
        request: &Method,
        answer: Response<Incoming>,
        mut connection: OpenConnection,
    ) -> (Response<Incoming>, PooledConnection) {
        connection.idle_time = idle_time(request, answer.status(), answer.headers());
        connection.answers += 1;
        self.headers_seen.fetch_max(answer.headers().len().max(1), Ordering::Relaxed);
        // Unlimited until `PooledConnection::bound_body`, because streams have no bound.
        connection.allowance.allow_body(u64::MAX);
        (answer, PooledConnection::new(connection, Arc::clone(&self.pool)))
    }

    async fn connect(&self) -> Result<OpenConnection, RequestError> {
        let connection = self.dial.connect(self.url.clone()).await.map_err(RequestError::Unconnected)?;
        let mut protocol = http1::Builder::new();
        protocol.max_buf_size(READ_BUFFER);
        let reads_many_headers = self.may_send_many_headers();
        if reads_many_headers {
            protocol.max_headers(MOST_HEADERS);
        }
        // Some servers still fold long header lines, and clients must unfold them (RFC 9112, 5.2).
        protocol.allow_obsolete_multiline_headers_in_responses(true);
        let allowance = Allowance::default();
        allowance.allow_head();
        let connection = BoundedConnection::new(TokioIo::new(connection), allowance.clone());
        let (requests, connection) = protocol.handshake(TokioIo::new(connection)).await?;
        // Drops errors of the connection: the request on it fails with the same.
        let task = AbortOnDropHandle::new(tokio::spawn(async move { drop(connection.await) }));
        Ok(OpenConnection { requests, task, idle_time: IDLE_TIMEOUT, reads_many_headers, answers: 0, allowance })
    }
}

impl fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpClient").field("host", &self.host).finish_non_exhaustive()
    }
}

/// The value of `Host`: without the default port of the scheme.
fn host_of(url: &Uri) -> HeaderValue {
    let default = if url.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    let host = url.host().unwrap_or_default();
    let host = match url.port_u16() {
        Some(port) if port != default => format!("{host}:{port}"),
        _ => host.to_owned(),
    };
    // The host of a parsed URL is a valid header value.
    HeaderValue::try_from(host).unwrap_or_else(|_| HeaderValue::from_static(""))
}
