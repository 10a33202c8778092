//! The attributes of a request that policies use.

use std::borrow::Cow;
use std::net::IpAddr;

use dripfeed_job::path::has_dot_segments;
use http::HeaderMap;
use serde_json::Value as Json;
use thiserror::Error;

/// A request to decide on. `None` stands for an unknown value, which has a scope as any other value.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'a> {
    pub method: &'a str,
    /// With or without the query, which is ignored. See [`Request::check_path`] for paths of clients.
    pub path: &'a str,
    pub headers: Option<&'a HeaderMap>,
    pub caller: Option<&'a str>,
    /// `None`: the tenant in the path, see [`crate::KeyPart::Tenant`], otherwise the caller.
    pub tenant: Option<&'a str>,
    pub ip: Option<IpAddr>,
    pub body: Option<&'a Json>,
    /// Overrides the cost of the policies. 0: checks without charging.
    pub cost: Option<u64>,
}

/// A path with dot segments, which servers resolve differently.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the segments `.` and `..`, also encoded, are not allowed: send the path that the service would resolve it to")]
pub struct DotSegments;

impl<'a> Request<'a> {
    pub fn new(method: &'a str, path: &'a str) -> Self {
        Self { method, path, ..Self::default() }
    }

    /// Refuses dot segments, which templates don't resolve: `/v1/x/../secret` would escape the policies of
    /// `/v1/secret`.
    ///
    /// # Errors
    /// For a path with dot segments.
    pub fn check_path(&self) -> Result<(), DotSegments> {
        if has_dot_segments(self.path) { Err(DotSegments) } else { Ok(()) }
    }

    /// The first value of a header, if it is ASCII.
    pub(crate) fn header(&self, name: &http::HeaderName) -> Option<&'a str> {
        self.headers?.get(name)?.to_str().ok()
    }

    /// The first value of a header. If it isn't ASCII, each byte becomes one character, so that such values differ,
    /// too.
    pub(crate) fn header_bytes(&self, name: &http::HeaderName) -> Option<Cow<'a, str>> {
        let value = self.headers?.get(name)?;
        Some(value.to_str().map_or_else(|_| value.as_bytes().iter().copied().map(char::from).collect(), Cow::from))
    }
}
