//! TLS by rustls, with `ring`: 1.2 and 1.3, the version of HTTP that the port speaks within.

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use super::Version;

/// A certificate with its chain, and the key that it is for.
#[derive(Clone)]
pub struct TlsIdentity {
    http1: Arc<ServerConfig>,
    http2: Arc<ServerConfig>,
}

/// Why texts make no identity. None of them is shown.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("holds no certificate in PEM form: {0}")]
    Certificate(#[source] pem::Error),
    #[error("holds no private key in PEM form: {0}")]
    Key(#[source] pem::Error),
    #[error("is no key for the certificate: {0}")]
    Pair(#[source] rustls::Error),
}

impl TlsIdentity {
    /// From the certificate and those that signed it, in this order, and the key in PKCS #8, PKCS #1 or SEC 1 form.
    ///
    /// # Errors
    /// When one of them can't be read, or they don't belong together.
    pub fn from_pem(certificates: &str, key: &str) -> Result<Self, TlsError> {
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(certificates.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(TlsError::Certificate)?;
        if chain.is_empty() {
            return Err(TlsError::Certificate(pem::Error::NoItemsFound));
        }
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(TlsError::Key)?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|versions| versions.with_no_client_auth().with_single_cert(chain, key))
            .map_err(TlsError::Pair)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let http1 = Arc::new(config.clone());
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Self { http1, http2: Arc::new(config) })
    }
}

/// The key is nobody's to see.
impl fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsIdentity")
    }
}

/// The identity that new connections are shown. Cheap to clone: the clones show the same.
#[derive(Clone, Debug)]
pub struct Tls(Arc<ArcSwap<TlsIdentity>>);

impl Tls {
    #[must_use]
    pub fn new(identity: TlsIdentity) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(identity)))
    }

    /// From now on; connections that are open stay.
    pub fn replace(&self, identity: TlsIdentity) {
        self.0.store(Arc::new(identity));
    }

    pub(super) fn acceptor(&self, version: Version) -> TlsAcceptor {
        let identity = self.0.load();
        TlsAcceptor::from(Arc::clone(match version {
            Version::One => &identity.http1,
            Version::Two => &identity.http2,
        }))
    }
}
