//! The accept loop: how connections come in, how long they may be silent, and how they end.
//!
//! Connections beyond the limit wait in the listener's backlog, where they cost nothing; a silent one makes room after
//! `head_timeout`, so they don't wait long.

mod framing;
mod protocol;
mod strict;
mod tls;

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use http::Request;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulConnection;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt as _;

use self::protocol::Http;
use self::strict::Strict;
pub use self::tls::{Tls, TlsError, TlsIdentity};
use crate::address::Peer;

/// A kept connection stays open this long after the stop, so that a request which is on its way gets an answer and not
/// a reset.
const LINGER: Duration = Duration::from_millis(500);
/// Out of file descriptors: it is worth trying again when some connections have ended.
const OUT_OF_DESCRIPTORS: Duration = Duration::from_millis(100);

#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Connections at once; at least 1.
    pub most: usize,
    /// For a request's head to arrive, counted from the end of the request before; and for a TLS handshake.
    pub head_timeout: Duration,
    /// The longest that nothing of an answer is taken.
    pub stall_timeout: Duration,
    /// How long running requests may go on after the stop.
    pub drain: Duration,
}

/// A port, and what is spoken there.
#[derive(Debug)]
pub struct Listener {
    tcp: TcpListener,
    version: Version,
    /// None: HTTP in clear text.
    tls: Option<Tls>,
}

/// Of HTTP; a port speaks one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Listener {
    /// HTTP/1.1.
    #[must_use]
    pub const fn new(tcp: TcpListener, tls: Option<Tls>) -> Self {
        Self { tcp, version: Version::One, tls }
    }

    /// HTTP/2, for gRPC.
    #[must_use]
    pub const fn http2(tcp: TcpListener, tls: Option<Tls>) -> Self {
        Self { tcp, version: Version::Two, tls }
    }
}

impl From<TcpListener> for Listener {
    fn from(tcp: TcpListener) -> Self {
        Self::new(tcp, None)
    }
}

/// Serves until `stop`; then accepts nothing more, and returns when the running requests have ended, or their time has.
///
/// # Errors
/// When the listener breaks.
pub async fn serve(
    listener: impl Into<Listener>,
    router: Router,
    limits: ConnectionLimits,
    stop: CancellationToken,
) -> io::Result<()> {
    let Listener { tcp: listener, version, tls } = listener.into();
    let connections = TaskTracker::new();
    let cut = CancellationToken::new();
    let room = Arc::new(Semaphore::new(limits.most));
    let server = Server { http: Http::new(version, limits), router, tls, limits, stop, cut: cut.clone() };
    let ended = tokio::select! {
        ended = accept_all(&listener, &server, &room, &connections) => ended,
        () = server.stop.cancelled() => Ok(()),
    };
    drop(listener);
    connections.close();
    if tokio::time::timeout(limits.drain, connections.wait()).await.is_err() {
        tracing::warn!(connections = connections.len(), "cutting off requests that run longer than the drain time");
        cut.cancel();
        connections.wait().await;
    }
    ended
}

/// A connection whose writes don't wait for ever.
type Patient = Pin<Box<TimeoutStream<TcpStream>>>;

#[derive(Clone)]
struct Server {
    http: Http,
    router: Router,
    tls: Option<Tls>,
    limits: ConnectionLimits,
    /// Ends what is idle.
    stop: CancellationToken,
    /// Ends everything.
    cut: CancellationToken,
}

async fn accept_all(
    listener: &TcpListener,
    server: &Server,
    room: &Arc<Semaphore>,
    connections: &TaskTracker,
) -> io::Result<()> {
    loop {
        let permit = Arc::clone(room).acquire_owned().await.map_err(io::Error::other)?;
        match listener.accept().await {
            Ok((stream, peer)) => {
                connections.spawn(server.clone().connection(stream, Peer(peer.ip()), permit));
            }
            Err(error) if ended_before_accepted(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "can't accept a connection");
                tokio::time::sleep(OUT_OF_DESCRIPTORS).await;
            }
        }
    }
}

fn ended_before_accepted(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

impl Server {
    async fn connection(self, stream: TcpStream, peer: Peer, _room: OwnedSemaphorePermit) {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection ended before it was served");
            return;
        }
        let cut = self.cut.clone();
        tokio::select! {
            () = self.serve(stream, peer) => {}
            () = cut.cancelled() => {}
        }
    }

    async fn serve(self, stream: TcpStream, peer: Peer) {
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.limits.stall_timeout));
        stream.set_read_timeout(self.http.silence());
        let stream = Box::pin(stream);
        let served = match &self.tls {
            None => self.requests(stream, peer).await,
            Some(tls) => match self.handshake(tls, stream).await {
                Some(stream) => self.requests(stream, peer).await,
                None => return,
            },
        };
        if let Err(error) = served {
            tracing::debug!(%error, "a connection broke");
        }
    }

    /// None: there was none, or it is too late for one.
    async fn handshake(&self, tls: &Tls, stream: Patient) -> Option<TlsStream<Patient>> {
        tokio::select! {
            shaken = tokio::time::timeout(self.limits.head_timeout, tls.acceptor(self.http.version()).accept(stream)) => {
                shaken.ok()?.inspect_err(|error| tracing::debug!(%error, "a connection is no TLS that we speak")).ok()
            }
            () = self.stop.cancelled() => None,
        }
    }

    async fn requests(
        &self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        peer: Peer,
    ) -> hyper::Result<()> {
        let router = self.router.clone().map_request(move |mut request: Request<hyper::body::Incoming>| {
            request.extensions_mut().insert(peer);
            request.map(Body::new)
        });
        let service = TowerToHyperService::new(router);
        match &self.http {
            Http::One(http) => {
                self.until_stop(pin!(http.serve_connection(TokioIo::new(Strict::new(stream)), service))).await
            }
            Http::Two { http, .. } => self.until_stop(pin!(http.serve_connection(TokioIo::new(stream), service))).await,
        }
    }

    async fn until_stop(
        &self,
        mut connection: Pin<&mut impl GracefulConnection<Error = hyper::Error>>,
    ) -> hyper::Result<()> {
        tokio::select! {
            ended = connection.as_mut() => return ended,
            () = self.stop.cancelled() => {}
        }
        if let Ok(ended) = tokio::time::timeout(LINGER, connection.as_mut()).await {
            return ended;
        }
        connection.as_mut().graceful_shutdown();
        connection.await
    }
}
