//! How connections are made.

use http::Uri;
use hyper_rustls::MaybeHttpsStream;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, Service, ServiceExt as _};

/// Over TLS or without.
pub type Connection = MaybeHttpsStream<TokioIo<TcpStream>>;

/// Makes connections to the host and port of a URL.
#[derive(Debug)]
pub struct Dial(BoxCloneSyncService<Uri, Connection, BoxError>);

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
