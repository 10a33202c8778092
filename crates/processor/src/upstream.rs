//! The upstream of a bucket: its URL, headers and limits, from configuration, validated once here.

mod checks;
pub(crate) mod connector;
pub(crate) mod pattern;
pub(crate) mod root_certs;
mod shared_clients;
pub(crate) mod signature;
pub(crate) mod ssrf;

use std::fmt;
use std::time::Duration;

use http::{HeaderMap, Method, Uri};
use secrecy::SecretString;

pub use crate::upstream::checks::BadUpstream;
use crate::upstream::checks::{checked_url, secret_headers};
use crate::upstream::root_certs::RootCerts;
use crate::upstream::signature::SigningSecret;

/// What an upstream is set to, before it is checked.
pub struct UpstreamSettings {
    /// `http://` or `https://`, a host, and a path that the jobs' paths are appended to.
    pub url: String,
    /// For jobs that name none.
    pub method: Method,
    /// For one attempt, from connecting to the answer's last byte. A job may bring its own.
    pub timeout: Duration,
    /// For making a connection: name, TCP and TLS together.
    pub connect_timeout: Duration,
    /// Sent with every call; they win over what a job brings. Credentials belong here.
    pub headers: Vec<(String, SecretString)>,
    /// Every call carries a signature of each. None: calls aren't signed.
    pub signing_secrets: Vec<SigningSecret>,
    /// Whether it may be in a private network or on this machine.
    pub allow_private: bool,
    /// Who may have signed its certificate.
    pub root_certs: RootCerts,
    /// Bytes of an answer's body that are read at most; of a longer one the rest is left and the connection closed.
    pub max_answer: u64,
}

/// A checked upstream. Its `Debug` shows neither headers nor query.
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
    /// Checks the settings.
    ///
    /// # Errors
    /// The first rule that is broken.
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
        let url = checked_url(&url, allow_private)?;
        if [Method::CONNECT, Method::TRACE].contains(&method) {
            return Err(BadUpstream::Method(method));
        }
        for (name, duration) in [("timeout", timeout), ("connect_timeout", connect_timeout)] {
            if duration.is_zero() {
                return Err(BadUpstream::NoTime(name));
            }
        }
        let headers = secret_headers(&headers)?;
        Ok(Self {
            url,
            method,
            timeout,
            connect_timeout,
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
