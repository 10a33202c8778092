//! The accept loop: admits connections up to a limit, times out silent ones, and drains on stop.
//!
//! Connections beyond the limit wait in the listener's backlog, where they cost nothing. Meanwhile idle ones are closed
//! after `head_timeout`, so the wait is short.

use std::convert::Infallible;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::Body;
use dripfeed_store::{FailureReport, LogThrottle, RecurringFailure};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::graceful::GracefulConnection;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};
use tower::Service;

use crate::address_limit::{AddressLimit, AddressPermit};
use crate::checked_connection::CheckedConnection;
use crate::limits::ConnectionLimits;
use crate::listener::Listener;
use crate::protocol::Protocol;
use crate::tls::Tls;

/// Idle connections stay open this long after the stop, so that a request in flight gets a response, not a reset.
const LINGER: Duration = Duration::from_millis(500);
/// Backoff after a failed accept, such as without free file descriptors.
const ACCEPT_BACKOFF: Duration = Duration::from_millis(100);

/// The remote address of a connection, as an extension of its requests.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub IpAddr);

/// The service that answers requests, such as a router. It must always be ready.
pub trait HttpService:
    Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send> + Clone + Send + Sync + 'static
{
}

impl<S> HttpService for S where
    S: Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static
{
}

/// Serves until `stop`, then drains: closes the listener and waits for running requests, at most `limits.drain`.
///
/// # Errors
/// When the listener fails.
pub async fn serve(
    listener: impl Into<Listener>,
    answers: impl HttpService,
    limits: ConnectionLimits,
    stop: CancellationToken,
) -> io::Result<()> {
    let Listener { tcp: listener, version, tls } = listener.into();
    let stop = stop.child_token();
    let connections = TaskTracker::new();
    let abort = CancellationToken::new();
    let slots = Arc::new(Semaphore::new(limits.most));
    let http = Protocol::new(version, limits, Arc::clone(&slots));
    let read_timeout = http.read_timeout();
    let addresses = AddressLimit::new(limits.most_per_address);
    let (server_stop, server_abort) = (stop.clone(), abort.clone());
    let server = Server { http, read_timeout, answers, tls, limits, addresses, stop: server_stop, abort: server_abort };
    let server = Arc::new(server);
    // In a task, so that new connections don't wake the caller's other futures.
    let accepting = tokio::spawn(accept_until_stop(listener, server, slots, connections.clone()));
    let result = AbortOnDropHandle::new(accepting).await.unwrap_or_else(|panicked| Err(io::Error::other(panicked)));
    // The listener may have failed before the stop.
    stop.cancel();
    connections.close();
    if tokio::time::timeout(limits.drain, connections.wait()).await.is_err() {
        tracing::warn!(connections = connections.len(), "drain timeout; closing connections with running requests");
        abort.cancel();
        connections.wait().await;
    }
    result
}

/// A connection with read and write timeouts.
type TimedStream = Pin<Box<TimeoutStream<TcpStream>>>;

/// A connection with or without TLS. One type, so that the code of a connection is compiled once.
type ServedStream = Either<TimedStream, TlsStream<TimedStream>>;

struct Server<S> {
    http: Protocol,
    read_timeout: Option<Duration>,
    answers: S,
    tls: Option<Tls>,
    limits: ConnectionLimits,
    addresses: AddressLimit,
    /// Closes idle connections.
    stop: CancellationToken,
    /// Closes all connections at the end of the drain.
    abort: CancellationToken,
}

/// Accepts connections, and closes the listener at the stop.
async fn accept_until_stop(
    listener: TcpListener,
    server: Arc<Server<impl HttpService>>,
    slots: Arc<Semaphore>,
    connections: TaskTracker,
) -> io::Result<()> {
    tokio::select! {
            result = accept_all(&listener, &server, &slots, &connections) => result,
        () = server.stop.cancelled() => Ok(()),
    }
}

async fn accept_all(
    listener: &TcpListener,
    server: &Arc<Server<impl HttpService>>,
    slots: &Arc<Semaphore>,
    connections: &TaskTracker,
) -> io::Result<()> {
    let failure = RecurringFailure::new();
    loop {
        let slot = Arc::clone(slots).acquire_owned().await.map_err(io::Error::other)?;
        match listener.accept().await {
            Ok((stream, peer)) => match server.addresses.enter(peer.ip()) {
                Some(address) => {
                    let permits = ConnectionPermits { _slot: slot, _address: address };
                    connections.spawn(Arc::clone(server).connection(stream, Peer(peer.ip()), permits));
                }
                None => log_closed(peer.ip()),
            },
            Err(error) if closed_before_accept(&error) => {}
            Err(error) => {
                match failure.occurred() {
                    Some(FailureReport::Begun) => tracing::warn!(%error, "accept failed; retrying"),
                    Some(FailureReport::Lasts(times)) => tracing::warn!(%error, times, "accept still fails; retrying"),
                    None => tracing::debug!(%error, "accept failed; retrying"),
                }
                tokio::time::sleep(ACCEPT_BACKOFF).await;
            }
        }
    }
}

/// The permits of a connection, until it ends.
struct ConnectionPermits {
    _slot: OwnedSemaphorePermit,
    _address: AddressPermit,
}

fn log_closed(address: IpAddr) {
    static CLOSED: LogThrottle = LogThrottle::new();
    if let Some(suppressed) = CLOSED.due(Instant::now()) {
        tracing::warn!(%address, suppressed, "closed a new connection: its address has the maximum number of them");
    }
}

fn closed_before_accept(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

impl<S: HttpService> Server<S> {
    async fn connection(self: Arc<Self>, stream: TcpStream, peer: Peer, _permits: ConnectionPermits) {
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "connection closed before the first request");
            return;
        }
        self.serve(stream, peer).await;
    }

    async fn serve(&self, stream: TcpStream, peer: Peer) {
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(self.limits.stall_timeout));
        stream.set_read_timeout(self.read_timeout);
        let stream = Box::pin(stream);
        let stream = match &self.tls {
            None => Either::Left(stream),
            Some(tls) => match self.handshake(tls, stream).await {
                Some(stream) => Either::Right(stream),
                None => return,
            },
        };
        if let Err(error) = self.requests(stream, peer).await {
            tracing::debug!(%error, "connection failed");
        }
    }

    /// Returns `None` if the handshake fails or times out, or the server is stopping.
    async fn handshake(&self, tls: &Tls, stream: TimedStream) -> Option<TlsStream<TimedStream>> {
        tokio::select! {
            handshake = tokio::time::timeout(
                self.limits.head_timeout,
                tls.acceptor(self.http.version()).accept(stream),
            ) => {
                handshake.ok()?.inspect_err(|error| tracing::debug!(%error, "TLS handshake failed")).ok()
            }
            () = self.stop.cancelled() => None,
        }
    }

    async fn requests(&self, stream: ServedStream, peer: Peer) -> hyper::Result<()> {
        let service = service_fn(|mut request: Request<Incoming>| {
            request.extensions_mut().insert(peer);
            self.answers.clone().call(request.map(Body::new))
        });
        match &self.http {
            Protocol::One(http) => {
                self.serve_until_stop(pin!(
                    http.serve_connection(
                        TokioIo::new(CheckedConnection::new(stream, self.limits.head_timeout)),
                        service
                    )
                ))
                .await
            }
            Protocol::Two { http, .. } => {
                self.serve_until_stop(pin!(http.serve_connection(TokioIo::new(stream), service))).await
            }
        }
    }

    /// Serves a connection until it ends. After the stop, shuts it down gracefully.
    async fn serve_until_stop(
        &self,
        mut connection: Pin<&mut impl GracefulConnection<Error = hyper::Error>>,
    ) -> hyper::Result<()> {
        tokio::select! {
            result = connection.as_mut() => return result,
            () = self.stop.cancelled() => {}
        }
        let shutdown = async {
            if let Ok(result) = tokio::time::timeout(LINGER, connection.as_mut()).await {
                return result;
            }
            connection.as_mut().graceful_shutdown();
            connection.await
        };
        tokio::select! {
            result = shutdown => result,
            () = self.abort.cancelled() => Ok(()),
        }
    }
}
