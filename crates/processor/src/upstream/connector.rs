//! Opens all connections to upstreams.
//!
//! Redirects, proxies from the environment and decompression aren't supported. TLS is rustls with ring.

use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use std::{io, vec};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::Uri;
use http_body_util::Full;
use hyper_rustls::{ConfigBuilderExt, HttpsConnectorBuilder, MaybeHttpsStream};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::dns::{GaiResolver, Name};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use rustls::crypto::ring;
use rustls::{ClientConfig, ConfigBuilder, WantsVerifier};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower::timeout::Timeout;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service, ServiceExt as _};

use crate::local_shortage::shortage_of_files;
use crate::upstream::Upstream;
use crate::upstream::shared_clients::{Reach, SharedClients};
use crate::upstream::ssrf::is_public;

/// Many servers close a quiet connection after 5 s: one that is used when they do looks like a cut answer.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);
const MOST_IDLE: usize = 256;

/// An answer's head, and what of its body is buffered before it is read. Its headers are at most 100, hyper's own
/// bound.
const READ_BUFFER: usize = 64 * 1024;

const KEEPALIVE: Duration = Duration::from_secs(15);

/// Calls upstreams, over connections that it keeps.
pub(crate) type HttpClient = Client<Dial, Full<Bytes>>;

type Connection = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Makes connections. The client clones it for each call, whether or not that needs a connection.
#[derive(Clone)]
pub(crate) struct Dial(Arc<BoxCloneSyncService<Uri, Connection, BoxError>>);

impl Service<Uri> for Dial {
    type Response = Connection;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Connection, BoxError>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(BoxCloneSyncService::clone(&self.0).oneshot(uri))
    }
}

/// Creates the HTTP clients of all upstreams. Cheap to clone.
#[derive(Clone)]
pub struct Connector {
    /// Versions and ciphers; whom to trust is each upstream's own.
    tls: ConfigBuilder<ClientConfig, WantsVerifier>,
    clients: SharedClients<HttpClient>,
}

#[derive(Debug, Error)]
#[error("TLS can't be set up for calls to upstreams")]
pub struct ConnectorError(#[from] rustls::Error);

impl Connector {
    /// # Errors
    /// When the TLS library can't be set up.
    pub fn new() -> Result<Self, ConnectorError> {
        // Named, because a provider installed for the whole process is nobody's promise.
        let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        Ok(Self { tls: tls.with_safe_default_protocol_versions()?, clients: SharedClients::none_yet() })
    }

    /// The client of all upstreams that trust and may reach the same.
    pub(crate) fn client(&self, upstream: &Upstream) -> Arc<HttpClient> {
        self.clients.get(Reach::of(upstream), |reach| self.make(reach))
    }

    fn make(&self, reach: &Reach) -> HttpClient {
        let allow_private = reach.allow_private;
        let names = tower::service_fn(move |name| resolve(name, allow_private));
        let mut tcp = HttpConnector::new_with_resolver(names);
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_keepalive(Some(KEEPALIVE));
        let tls = self.tls.clone();
        let tls = match reach.root_certs.roots() {
            None => tls.with_webpki_roots(),
            Some(roots) => tls.with_root_certificates(roots),
        };
        let tls = HttpsConnectorBuilder::new()
            .with_tls_config(tls.with_no_client_auth())
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let dial = Dial(Arc::new(BoxCloneSyncService::new(Timeout::new(tls, reach.connect_timeout))));
        Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_max_idle_per_host(MOST_IDLE)
            .http1_max_buf_size(READ_BUFFER)
            // One attempt stays one request that the upstream could have seen: hyper repeats only a request that it
            // gets back from a kept connection without a byte of it written, because the upstream had closed that
            // connection meanwhile. Without this an upstream's keep-alive would cost jobs their attempts.
            .retry_canceled_requests(true)
            .build(dial)
    }
}

impl Upstream {
    /// Whether its name currently resolves to a private address that isn't allowed. Each connection checks again,
    /// because DNS may change.
    pub async fn has_private_address(&self) -> bool {
        let name = self.url().host().and_then(|host| host.parse::<Name>().ok());
        let Some(name) = name.filter(|_| !self.allow_private()) else { return false };
        match timeout(self.connect_timeout(), look_up(&name)).await {
            Ok(Ok(found)) => found.iter().any(|at| !is_public(at.ip())),
            _ => false,
        }
    }
}

/// The addresses of a name, less those that are not to be called. What is left is what is connected to: the name isn't
/// looked up again in between.
async fn resolve(name: Name, allow_private: bool) -> io::Result<vec::IntoIter<SocketAddr>> {
    let found = look_up(&name).await?;
    let called: Vec<_> = found.iter().copied().filter(|at| allow_private || is_public(at.ip())).collect();
    if called.is_empty() && !found.is_empty() {
        return Err(io::Error::other(PrivateName(name.to_string())));
    }
    Ok(called.into_iter())
}

/// A name that can't be looked up for want of files looks like one that doesn't exist. When there are files again by
/// the time this is looked at, the name is looked up once more.
async fn look_up(name: &Name) -> io::Result<Vec<SocketAddr>> {
    for _ in 0..2 {
        if let Ok(found) = GaiResolver::new().call(name.clone()).await {
            return Ok(found.collect());
        }
        if let Some(shortage) = shortage_of_files() {
            return Err(shortage);
        }
    }
    Ok(GaiResolver::new().call(name.clone()).await?.collect())
}

#[derive(Debug, Error)]
#[error("{0} has only private addresses, and `allow_private` is false")]
struct PrivateName(String);

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[tokio::test]
    async fn a_name_of_a_private_address_is_not_connected_to() {
        let name: Name = "localhost".parse().unwrap();
        let refused = resolve(name.clone(), false).await.unwrap_err();
        assert!(refused.to_string().contains("only private addresses"), "{refused}");
        assert!(resolve(name, true).await.unwrap().count() > 0);
    }

    #[tokio::test]
    async fn a_name_of_a_private_address_is_known_before_it_is_called() {
        use crate::upstream::UpstreamSettings;
        use crate::upstream::tests::settings;
        for (url, allow_private, is_private) in [
            ("http://localhost:1/", false, true),
            ("http://localhost:1/", true, false),
            ("http://name.invalid/", false, false),
        ] {
            let upstream = Upstream::new(UpstreamSettings { allow_private, ..settings(url) }).unwrap();
            assert_eq!(upstream.has_private_address().await, is_private, "{url}");
        }
    }

    #[tokio::test]
    async fn a_number_that_only_the_resolver_takes_for_an_address_is_checked_as_well() {
        assert!(resolve("127.1".parse().unwrap(), false).await.is_err());
    }
}
