//! The upstream of a bucket: its URL, headers and limits, validated once from the configuration.

mod checks;
pub(crate) mod connector;
mod dial;
mod names;
pub(crate) mod pattern;
pub(crate) mod root_certs;
pub(crate) mod shared_clients;
pub(crate) mod signature;
mod source_address;
pub(crate) mod ssrf;

use std::fmt;
use std::time::Duration;

use http::{HeaderMap, Method, Uri};
use secrecy::SecretString;

pub use crate::upstream::checks::{BadUpstream, UpstreamFault};
use crate::upstream::checks::{checked_url, secret_headers};
use crate::upstream::root_certs::RootCerts;
use crate::upstream::signature::SigningSecret;

/// The settings of an upstream, before validation.
pub struct UpstreamSettings {
    /// An `http://` or `https://` URL. Paths of jobs are appended to its path.
    pub url: String,
    /// The default method.
    pub method: Method,
    /// Timeout of one attempt, from connecting to the last byte of the answer. A job can override it.
    pub timeout: Duration,
    /// Connect timeout: DNS, TCP and TLS together.
    pub connect_timeout: Duration,
    /// Headers of every call, which override those of a job; also credentials.
    pub headers: Vec<(String, SecretString)>,
    /// Every call is signed with each. Empty: calls aren't signed.
    pub signing_secrets: Vec<SigningSecret>,
    /// Whether private, loopback and link-local addresses are allowed.
    pub allow_private: bool,
    /// The trusted certificate authorities.
    pub root_certs: RootCerts,
    /// Maximum bytes read of an answer's body. The rest of a longer one is discarded, and the connection closed.
    pub max_answer: u64,
}

/// A validated upstream. Its `Debug` output omits headers and query.
#[derive(Clone, PartialEq, Eq)]
pub struct Upstream {
    url: Uri,
    method: Method,
    timeout: Duration,
    connect_timeout: Duration,
    headers: HeaderMap,
    signing_secrets: Vec<SigningSecret>,
    allow_private: bool,
    root_certs: RootCerts,
    max_answer: u64,
}

impl Upstream {
    /// Validates the settings.
    ///
    /// # Errors
    /// All faults that were found.
    pub fn new(settings: UpstreamSettings) -> Result<Self, BadUpstream> {
        let UpstreamSettings {
            url,
            method,
            timeout,
            connect_timeout,
            headers,
            signing_secrets,
            allow_private,
            root_certs,
            max_answer,
        } = settings;
        let mut faults = Vec::new();
        let url = checked_url(&url, allow_private, &mut faults);
        if [Method::CONNECT, Method::TRACE].contains(&method) {
            faults.push(UpstreamFault::Method(method.clone()));
        }
        let durations = [("timeout", timeout), ("connect_timeout", connect_timeout)].into_iter();
        faults.extend(durations.filter(|(_, time)| time.is_zero()).map(|(name, _)| UpstreamFault::NoTime(name)));
        let headers = secret_headers(&headers, &mut faults);
        let Some(url) = url.filter(|_| faults.is_empty()) else { return Err(BadUpstream::new(faults)) };
        Ok(Self {
            url,
            method,
            timeout,
            // Divided among the addresses of a name, so that all can be tried within the timeout of a call.
            connect_timeout: connect_timeout.min(timeout),
            headers,
            signing_secrets,
            allow_private,
            root_certs,
            max_answer,
        })
    }

    pub(crate) const fn url(&self) -> &Uri {
        &self.url
    }

    pub(crate) const fn method(&self) -> &Method {
        &self.method
    }

    pub(crate) const fn timeout(&self) -> Duration {
        self.timeout
    }

    pub(crate) const fn connect_timeout(&self) -> Duration {
        self.connect_timeout
    }

    pub(crate) const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    pub(crate) fn signing_secrets(&self) -> &[SigningSecret] {
        &self.signing_secrets
    }

    pub(crate) const fn allow_private(&self) -> bool {
        self.allow_private
    }

    pub(crate) const fn root_certs(&self) -> &RootCerts {
        &self.root_certs
    }

    pub(crate) const fn max_answer(&self) -> u64 {
        self.max_answer
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.url.authority().map_or("", |authority| authority.as_str());
        f.debug_struct("Upstream").field("host", &host).field("path", &self.url.path()).finish_non_exhaustive()
    }
}

#[cfg(test)]
pub(crate) mod tests;
