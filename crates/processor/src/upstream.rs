//! An upstream: where a bucket's jobs go, and as whom. It comes from configuration, checked once, here.

pub(crate) mod connector;
pub(crate) mod root_certs;
pub(crate) mod signature;
pub(crate) mod ssrf;

use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use dripfeed_job::forward::{BadForward, ForwardHeaders};
use http::uri::InvalidUri;
use http::{HeaderMap, Method, Uri};
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

use crate::upstream::root_certs::RootCerts;
use crate::upstream::signature::SigningSecret;
use crate::upstream::ssrf::is_public;

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

/// The rule that an upstream breaks.
#[derive(Debug, Error)]
pub enum BadUpstream {
    #[error("the url can't be read ({0}): write it as http://host:port/path")]
    Unreadable(#[source] InvalidUri),
    #[error("the url must begin with http:// or https:// and name a host")]
    NoHost,
    #[error("the url carries a user or password: put credentials into `headers`")]
    Credentials,
    #[error("the url has a fragment, which is never sent: leave out `#` and what follows")]
    Fragment,
    #[error("the host {0} is a private address: use a public one, or set `allow_private = true`")]
    Private(IpAddr),
    #[error("the method {0} can't carry a job: use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS")]
    Method(Method),
    #[error("`{0}` is zero, so every call would fail: set at least 1ms")]
    NoTime(&'static str),
    #[error("headers: {0}")]
    Header(#[from] BadForward),
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

fn checked_url(text: &str, allow_private: bool) -> Result<Uri, BadUpstream> {
    let url: Uri = text.parse().map_err(BadUpstream::Unreadable)?;
    let (Some("http" | "https"), Some(authority)) = (url.scheme_str(), url.authority()) else {
        return Err(BadUpstream::NoHost);
    };
    if authority.host().is_empty() {
        return Err(BadUpstream::NoHost);
    }
    if authority.as_str().contains('@') {
        return Err(BadUpstream::Credentials);
    }
    if text.contains('#') {
        return Err(BadUpstream::Fragment);
    }
    // A name is looked up, and its addresses checked, at each connection; an address as it stands is checked here.
    let literal = authority.host().trim_matches(['[', ']']).parse::<IpAddr>();
    match literal {
        Ok(address) if !allow_private && !is_public(address) => Err(BadUpstream::Private(address)),
        _ => Ok(url),
    }
}

fn secret_headers(headers: &[(String, SecretString)]) -> Result<HeaderMap, BadForward> {
    let mut checked = ForwardHeaders::default();
    for (name, value) in headers {
        checked.push(name, value.expose_secret())?;
    }
    let mut map = HeaderMap::new();
    for (name, value) in checked.iter() {
        let mut value = value.clone();
        value.set_sensitive(true);
        map.append(name, value);
    }
    Ok(map)
}

#[cfg(test)]
pub(crate) mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    pub(crate) fn settings(url: &str) -> UpstreamSettings {
        UpstreamSettings {
            url: url.to_owned(),
            method: Method::POST,
            timeout: Duration::from_secs(5),
            connect_timeout: Duration::from_secs(2),
            headers: Vec::new(),
            signing_secrets: Vec::new(),
            allow_private: true,
            root_certs: RootCerts::default(),
            max_answer: 1 << 20,
        }
    }

    fn broken(url: &str) -> String {
        let public_only = UpstreamSettings { allow_private: false, ..settings(url) };
        Upstream::new(public_only).map(|_| "taken".to_owned()).unwrap_or_else(|error| error.to_string())
    }

    #[test]
    fn a_url_names_a_scheme_and_a_host_and_nothing_secret() {
        for (url, says) in [
            ("https://api.example/feed", "taken"),
            ("", "can't be read"),
            ("api.example/feed", "can't be read"),
            ("/feed", "must begin with http"),
            ("ftp://api.example", "must begin with http"),
            ("http://user:secret@api.example/", "credentials"),
            ("http://api.example/#here", "fragment"),
        ] {
            assert!(broken(url).contains(says), "{url}: {}", broken(url));
        }
    }

    #[test]
    fn a_private_address_is_refused_unless_allowed() {
        for url in ["http://127.0.0.1:9000/", "http://[::1]/", "http://169.254.169.254/", "http://[::ffff:10.0.0.1]/"] {
            assert!(broken(url).contains("private address"), "{url}");
            assert!(Upstream::new(settings(url)).is_ok(), "{url}");
        }
    }

    #[test]
    fn what_can_never_work_is_refused() {
        let slow = UpstreamSettings { timeout: Duration::ZERO, ..settings("http://h/") };
        assert!(matches!(Upstream::new(slow), Err(BadUpstream::NoTime("timeout"))));
        let tunnel = UpstreamSettings { method: Method::CONNECT, ..settings("http://h/") };
        assert!(matches!(Upstream::new(tunnel), Err(BadUpstream::Method(_))));
        for name in ["Host", "Content-Length", "Dripfeed-Job-Id", "a b"] {
            let headers = vec![(name.to_owned(), SecretString::from("v"))];
            assert!(matches!(
                Upstream::new(UpstreamSettings { headers, ..settings("http://h/") }),
                Err(BadUpstream::Header(_))
            ));
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let headers = vec![("Authorization".to_owned(), SecretString::from("Bearer canary"))];
        let upstream = Upstream::new(UpstreamSettings { headers, ..settings("http://h/p?key=canary") }).unwrap();
        let shown = format!("{upstream:?} {:?}", upstream.headers());
        assert!(!shown.contains("canary"), "{shown}");
    }
}
