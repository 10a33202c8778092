//! Checks the TLS files of `redis.url`, to report errors before a connection needs them.

use std::path::Path;

use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;

use super::address::{Address, Tls};
use crate::error::pem_error::PemError;

impl Address {
    /// Returns a sentence for each error in the files of `?ca=`, `?cert=` and `?key=`. Each new connection reads the
    /// files again.
    pub fn tls_file_errors(&self) -> Vec<String> {
        let Some(Tls { ca, client }) = &self.tls else { return Vec::new() };
        let ca = ca.as_ref().map(|ca| trusted(ca).map_err(|fault| format!("?ca=: {fault}")));
        let client = client.as_ref().map(|(certificate, key)| pair(certificate, key));
        [ca, client].into_iter().flatten().filter_map(Result::err).collect()
    }
}

fn trusted(path: &Path) -> Result<(), String> {
    let mut roots = RootCertStore::empty();
    let unusable = |error| format!("{} contains a certificate that can't be used: {error}", path.display());
    certificates(path)?.into_iter().try_for_each(|one| roots.add(one)).map_err(unusable)
}

fn pair(certificate: &Path, key: &Path) -> Result<(), String> {
    let chain = certificates(certificate).map_err(|fault| format!("?cert=: {fault}"))?;
    let text = read(key).map_err(|fault| format!("&key=: {fault}"))?;
    // The parser's error shows nothing of a key.
    let read = PrivateKeyDer::from_pem_slice(&text);
    let no_key = |error| format!("&key=: {} contains no private key in PEM format: {}", key.display(), PemError(error));
    let read = read.map_err(no_key)?;
    let mismatch = |error| {
        let (key, certificate) = (key.display(), certificate.display());
        format!("&key=: {key} doesn't match the certificate in {certificate}: {error}")
    };
    CertifiedKey::from_der(chain, read, &ring::default_provider()).map(drop).map_err(mismatch)
}

/// Returns at least one certificate.
fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = read(path)?;
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let read = read.and_then(|all| if all.is_empty() { Err(pem::Error::NoItemsFound) } else { Ok(all) });
    read.map_err(|error| format!("{} contains no certificate in PEM format: {}", path.display(), PemError(error)))
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("can't read {}: {error}", path.display()))
}
