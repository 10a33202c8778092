//! Finds the TLS error behind a failed connection, and explains it.

use std::error::Error;
use std::io;

use rustls::CertificateError;

/// Searches the chain of causes. The error inside an `io::Error` isn't its `source`, so it is looked at separately.
pub(crate) fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    if let Some(tls_error) = error.downcast_ref() {
        return Some(tls_error);
    }
    match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
        Some(inner) => tls_error(inner),
        None => tls_error(error.source()?),
    }
}

/// Returns the cause in words, or what to do about it.
pub(crate) const fn remedy(error: &rustls::Error) -> &'static str {
    use CertificateError as Certificate;
    match error {
        rustls::Error::InvalidCertificate(Certificate::UnknownIssuer | Certificate::BadSignature) => {
            "this client doesn't trust the authority that signed its certificate"
        }
        rustls::Error::InvalidCertificate(
            Certificate::NotValidForName | Certificate::NotValidForNameContext { .. },
        ) => "its certificate is for another host name: use one that it contains",
        rustls::Error::InvalidCertificate(
            Certificate::Expired
            | Certificate::ExpiredContext { .. }
            | Certificate::NotValidYet
            | Certificate::NotValidYetContext { .. },
        ) => "its certificate isn't valid now; is the clock of this machine right?",
        rustls::Error::InvalidCertificate(_) => "its certificate can't be used",
        rustls::Error::InvalidMessage(_) => "if it is a server without TLS, its URL begins with http://",
        _ => "the handshake failed",
    }
}
