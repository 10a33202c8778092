//! TLS 1.2 and 1.3 with rustls and `ring`. ALPN offers only the HTTP version of the port.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arc_swap::ArcSwap;
use dripfeed_store::PemError;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;
use x509_parser::parse_x509_certificate;

use crate::protocol::HttpVersion;

/// A certificate chain and its private key.
#[derive(Clone)]
pub struct TlsIdentity {
    http1: Arc<ServerConfig>,
    http2: Arc<ServerConfig>,
    expires: Option<SystemTime>,
}

/// Why PEM texts aren't a usable identity. Doesn't show the texts.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("contains no certificate in PEM format: {0}")]
    Certificate(#[source] PemError),
    #[error("contains no private key in PEM format: {0}")]
    Key(#[source] PemError),
    #[error("doesn't match the certificate: {0}")]
    Pair(#[source] rustls::Error),
}

impl TlsIdentity {
    /// Parses a certificate chain, leaf first, and a key in PKCS #8, PKCS #1 or SEC 1 form.
    ///
    /// # Errors
    /// When one can't be parsed, or the key doesn't match the certificate.
    pub fn from_pem(certificates: &str, key: &str) -> Result<Self, TlsError> {
        let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(certificates.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|error| TlsError::Certificate(PemError(error)))?;
        if chain.is_empty() {
            return Err(TlsError::Certificate(PemError(pem::Error::NoItemsFound)));
        }
        let expires = chain.iter().filter_map(expiry).min();
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).map_err(|error| TlsError::Key(PemError(error)))?;
        let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .and_then(|versions| versions.with_no_client_auth().with_single_cert(chain, key))
            .map_err(TlsError::Pair)?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        let http1 = Arc::new(config.clone());
        config.alpn_protocols = vec![b"h2".to_vec()];
        Ok(Self { http1, http2: Arc::new(config), expires })
    }

    /// Returns when the chain expires, that is, the first of its certificates. Returns `None` if that can't be read.
    #[must_use]
    pub const fn expires(&self) -> Option<SystemTime> {
        self.expires
    }
}

/// Returns `None` if the certificate can't be parsed, or its expiry exceeds the range of `SystemTime`.
fn expiry(certificate: &CertificateDer<'_>) -> Option<SystemTime> {
    let (_, certificate) = parse_x509_certificate(certificate).ok()?;
    let seconds = u64::try_from(certificate.validity().not_after.timestamp()).unwrap_or_default();
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// Doesn't show the key.
impl fmt::Debug for TlsIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsIdentity")
    }
}

/// The identity presented to new connections. Clones share it.
#[derive(Clone, Debug)]
pub struct Tls(Arc<ArcSwap<TlsIdentity>>);

impl Tls {
    #[must_use]
    pub fn new(identity: TlsIdentity) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(identity)))
    }

    /// Replaces the identity for new connections; open ones keep theirs.
    pub fn replace(&self, identity: TlsIdentity) {
        self.0.store(Arc::new(identity));
    }

    pub(crate) fn acceptor(&self, version: HttpVersion) -> TlsAcceptor {
        let identity = self.0.load();
        TlsAcceptor::from(Arc::clone(match version {
            HttpVersion::One => &identity.http1,
            HttpVersion::Two => &identity.http2,
        }))
    }
}
