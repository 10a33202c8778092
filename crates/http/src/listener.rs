use tokio::net::TcpListener;

use crate::protocol::HttpVersion;
use crate::tls::Tls;

/// A bound port with its HTTP version and TLS identity.
#[derive(Debug)]
pub struct Listener {
    pub(crate) tcp: TcpListener,
    pub(crate) version: HttpVersion,
    /// `None` for HTTP without TLS.
    pub(crate) tls: Option<Tls>,
}

impl Listener {
    /// Creates a listener for HTTP/1.1.
    #[must_use]
    pub const fn new(tcp: TcpListener, tls: Option<Tls>) -> Self {
        Self { tcp, version: HttpVersion::One, tls }
    }

    /// Creates a listener for HTTP/2, as gRPC needs it.
    #[must_use]
    pub const fn http2(tcp: TcpListener, tls: Option<Tls>) -> Self {
        Self { tcp, version: HttpVersion::Two, tls }
    }
}

impl From<TcpListener> for Listener {
    fn from(tcp: TcpListener) -> Self {
        Self::new(tcp, None)
    }
}
