//! The TLS configuration: which certificate authorities a client trusts.

use std::sync::Arc;

use hyper_rustls::ConfigBuilderExt as _;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::{ClientConfig, RootCertStore};

/// `certificates`: authorities to trust instead of the public ones, as PEM.
pub(crate) fn tls_config(certificates: Option<&[u8]>) -> Result<ClientConfig, String> {
    // Not the process's default provider: rustls panics if two are compiled in and none is installed.
    let tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let tls = tls.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let tls = match certificates {
        None => tls.with_webpki_roots(),
        Some(pem) => tls.with_root_certificates(root_certificates(pem)?),
    };
    Ok(tls.with_no_client_auth())
}

fn root_certificates(pem: &[u8]) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(pem) {
        let certificate = certificate.map_err(|error| describe(&error))?;
        roots.add(certificate).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() { Err("no PEM block found".to_owned()) } else { Ok(roots) }
}

/// The parser's own messages show parts of the text as lists of bytes.
fn describe(error: &pem::Error) -> String {
    match error {
        pem::Error::MissingSectionEnd { .. } => "a block has no end; is the file complete?".to_owned(),
        pem::Error::IllegalSectionStart { .. } => "the first line of a block is malformed".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use rustls::crypto::CryptoProvider;

    use super::*;

    #[test]
    fn the_crypto_of_the_process_is_neither_asked_for_nor_chosen() {
        assert!(tls_config(None).is_ok());
        assert!(CryptoProvider::get_default().is_none());
    }
}
