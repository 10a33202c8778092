//! Validation of an upstream's settings.

use std::fmt;
use std::net::IpAddr;

use dripfeed_job::forward::{BadForward, ForwardHeaders};
use dripfeed_job::port;
use http::uri::InvalidUri;
use http::{HeaderMap, Method, Uri};
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

use crate::upstream::ssrf::is_public;

/// All faults in the settings of an upstream.
#[derive(Debug, Error)]
pub struct BadUpstream {
    faults: Vec<UpstreamFault>,
}

/// A fault in the settings of an upstream.
#[derive(Debug, Error)]
pub enum UpstreamFault {
    #[error("not a URL ({0}): use http://host:port/path")]
    Unreadable(#[source] InvalidUri),
    #[error("the port of the URL is not a number from 1 to 65535")]
    Port,
    #[error("the URL must begin with http:// or https:// and have a host")]
    NoHost,
    #[error("the URL has a user or password: put credentials into `headers`")]
    Credentials,
    #[error("the URL has a fragment, which is never sent: remove `#` and what follows")]
    Fragment,
    #[error("the host {0} has a private address: use a public one, or `allow_private = true` in a configuration file")]
    Private(IpAddr),
    #[error("the method {0} is not supported: use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS")]
    Method(Method),
    #[error("`{0}` is zero, so every call would fail: set at least 1ms")]
    NoTime(&'static str),
    #[error(transparent)]
    Header(#[from] BadForward),
}

impl BadUpstream {
    pub(super) const fn new(faults: Vec<UpstreamFault>) -> Self {
        Self { faults }
    }

    /// Returns the faults, at least one.
    #[must_use]
    pub fn into_faults(self) -> Vec<UpstreamFault> {
        self.faults
    }
}

impl fmt::Display for BadUpstream {
    /// One line for each fault.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.faults.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

/// Adds what is wrong to `faults`. Returns `None` if the URL can't be used at all.
pub(super) fn checked_url(text: &str, allow_private: bool, faults: &mut Vec<UpstreamFault>) -> Option<Uri> {
    let url: Uri = text.parse().map_err(|error| faults.push(UpstreamFault::Unreadable(error))).ok()?;
    let named = matches!(url.scheme_str(), Some("http" | "https"));
    let Some(authority) = url.authority().filter(|authority| named && !authority.host().is_empty()) else {
        faults.push(UpstreamFault::NoHost);
        return None;
    };
    if !port::is_usable(&url) {
        faults.push(UpstreamFault::Port);
    }
    if authority.as_str().contains('@') {
        faults.push(UpstreamFault::Credentials);
    }
    if text.contains('#') {
        faults.push(UpstreamFault::Fragment);
    }
    // An address in the URL is checked here; those of a name are checked at each connection.
    let literal = authority.host().trim_matches(['[', ']']).parse::<IpAddr>();
    faults.extend(literal.ok().filter(|at| !allow_private && !is_public(*at)).map(UpstreamFault::Private));
    Some(url)
}

/// The valid headers, marked as sensitive; adds the others to `faults`.
pub(super) fn secret_headers(headers: &[(String, SecretString)], faults: &mut Vec<UpstreamFault>) -> HeaderMap {
    let mut checked = ForwardHeaders::default();
    for (name, value) in headers {
        match checked.push(name, value.expose_secret()) {
            Ok(()) => {}
            // The remaining headers would have the same fault.
            Err(BadForward::TooMany) => {
                faults.push(BadForward::TooMany.into());
                break;
            }
            Err(fault) => faults.push(fault.into()),
        }
    }
    let mut map = HeaderMap::new();
    for (name, value) in checked.iter() {
        let mut value = value.clone();
        value.set_sensitive(true);
        map.append(name, value);
    }
    map
}
