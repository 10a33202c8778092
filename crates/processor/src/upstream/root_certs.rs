//! The certificate authorities that are trusted for an upstream.

use std::error::Error;
use std::fmt;

use dripfeed_store::PemError;
use jiff::Timestamp;
use rustls::pki_types::pem::{self, PemObject as _};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::{CertificateError, RootCertStore};

/// Certificate authorities: the public ones, or only these.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct RootCerts(Option<Vec<CertificateDer<'static>>>);

/// Why a PEM text contains no usable authorities.
#[derive(Debug, thiserror::Error)]
pub enum BadRootCerts {
    #[error("contains no certificate in PEM format: {0}")]
    Unreadable(#[source] PemError),
    #[error("contains a certificate that can't be used: {0}")]
    Unusable(#[source] rustls::Error),
}

impl RootCerts {
    /// Parses a PEM text, to trust only the authorities in it.
    ///
    /// # Errors
    /// When the text contains no certificate, or one that can't be used.
    pub fn only(pem: &str) -> Result<Self, BadRootCerts> {
        let certificates: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(pem.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|error| BadRootCerts::Unreadable(PemError(error)))?;
        if certificates.is_empty() {
            return Err(BadRootCerts::Unreadable(PemError(pem::Error::NoItemsFound)));
        }
        let mut roots = RootCertStore::empty();
        certificates.iter().try_for_each(|one| roots.add(one.clone())).map_err(BadRootCerts::Unusable)?;
        Ok(Self(Some(certificates)))
    }

    /// Returns `None` for the public authorities.
    pub(crate) fn roots(&self) -> Option<RootCertStore> {
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(self.0.as_ref()?.iter().cloned());
        Some(roots)
    }
}

impl fmt::Debug for RootCerts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("those that browsers know"),
            Some(certificates) => write!(f, "{} configured ones", certificates.len()),
        }
    }
}

/// Adds to `why` what to do about a certificate that isn't trusted. The message doesn't contain the current time, as
/// rustls' own does: dead letters are grouped by their messages.
pub(crate) fn explained(error: &(dyn Error + 'static), why: String) -> String {
    let Some(rustls::Error::InvalidCertificate(doubt)) = tls_error(error) else { return why };
    let remedy = remedy(doubt);
    match doubt {
        CertificateError::ExpiredContext { not_after, .. } => {
            format!("invalid peer certificate: it expired at {}; {remedy}", utc(*not_after))
        }
        CertificateError::NotValidYetContext { not_before, .. } => {
            format!("invalid peer certificate: it isn't valid before {}; {remedy}", utc(*not_before))
        }
        _ => format!("{why}; {remedy}"),
    }
}

fn utc(time: UnixTime) -> String {
    let seconds = time.as_secs();
    let known = i64::try_from(seconds).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    known.map_or_else(|| seconds.to_string(), |time| time.to_string())
}

fn remedy(doubt: &CertificateError) -> &'static str {
    match doubt {
        CertificateError::UnknownIssuer | CertificateError::BadSignature => {
            "set `upstream_ca_file` to the certificate of the CA that signed it"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "use a host name that the upstream's certificate contains"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "the upstream's certificate must be renewed; check the clock of this machine, too"
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "check the clock of this machine"
        }
        _ => "the upstream's certificate must be replaced",
    }
}

/// The TLS error among the causes. An `io::Error` doesn't return the error that it wraps as its source.
fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    if let Some(tls) = error.downcast_ref() {
        return Some(tls);
    }
    match error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
        Some(wrapped) => tls_error(wrapped),
        None => tls_error(error.source()?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_names_no_authority_is_refused() {
        for text in [
            "",
            "none",
            "-----BEGIN CERTIFICATE-----\nAAAA\n",
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
        ] {
            assert!(RootCerts::only(text).is_err(), "{text}");
        }
    }
}
