//! Validation of an upstream's settings.

use std::net::IpAddr;

use dripfeed_job::forward::{BadForward, ForwardHeaders};
use http::uri::InvalidUri;
use http::{HeaderMap, Method, Uri};
use secrecy::{ExposeSecret, SecretString};
use thiserror::Error;

use crate::upstream::ssrf::is_public;

/// Why the settings of an upstream are invalid.
#[derive(Debug, Error)]
pub enum BadUpstream {
    #[error("not a URL ({0}): use http://host:port/path")]
    Unreadable(#[source] InvalidUri),
    #[error("the URL must begin with http:// or https:// and have a host")]
    NoHost,
    #[error("the URL has a user or password: put credentials into `headers`")]
    Credentials,
    #[error("the URL has a fragment, which is never sent: remove `#` and what follows")]
    Fragment,
    #[error("the host {0} has a private address, and `allow_private` is false: use a public address")]
    Private(IpAddr),
    #[error("the method {0} is not supported: use GET, HEAD, POST, PUT, PATCH, DELETE or OPTIONS")]
    Method(Method),
    #[error("`{0}` is zero, so every call would fail: set at least 1ms")]
    NoTime(&'static str),
    #[error(transparent)]
    Header(#[from] BadForward),
}

pub(super) fn checked_url(text: &str, allow_private: bool) -> Result<Uri, BadUpstream> {
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

pub(super) fn secret_headers(headers: &[(String, SecretString)]) -> Result<HeaderMap, BadForward> {
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
