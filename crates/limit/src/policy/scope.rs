//! The key of a policy: each combination of its values is a scope with separate counters.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderName;
use serde_json::Value as Json;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::policy::matching::{Match, Variables, normalized};
use crate::policy::request::Request;

/// Longer values are hashed, because Redis keeps the names of keys in memory.
const LONGEST_PLAIN: usize = 32;
/// Stands for a value that a request doesn't have.
const MISSING: &str = "-";

const METHODS: [&str; 10] = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH", "QUERY"];

/// The value of a request for a part of a policy's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum KeyPartValue<'r> {
    /// A name from the configuration or the application, readable in Redis.
    Named(Cow<'r, str>),
    /// A value from a request. It may be secret, and there may be any number of values.
    Brought(Cow<'r, str>),
    Missing,
}

impl KeyPartValue<'_> {
    pub(crate) fn is_brought(&self) -> bool {
        matches!(self, Self::Brought(_))
    }
}

/// One part of a policy's key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyPart {
    Caller,
    /// [`Request::tenant`](super::request::Request::tenant), otherwise the path's variable `tenant`, `org`,
    /// `organization` or `organisation` (in any case, also as `org_id`, `orgId` …), otherwise the caller.
    Tenant,
    /// The method and the path template that matched. If that ends with `**`, the normalized path instead of the
    /// template.
    Endpoint,
    Header(HeaderName),
    /// A member of the JSON body, by pointer.
    Field(String),
    /// A variable of the path template.
    Path(String),
    /// The caller's address. For IPv6 its first 64 bits, which one subscriber has.
    Ip,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "`{0}` is not a valid part of a key: use caller, tenant, endpoint, header:<name>, field:<JSON pointer>, \
        path:<variable> or ip"
)]
pub struct BadKeyPart(pub String);

impl FromStr for KeyPart {
    type Err = BadKeyPart;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || BadKeyPart(text.chars().take(64).collect());
        match text.split_once(':') {
            None => match text {
                "caller" => Ok(Self::Caller),
                "tenant" => Ok(Self::Tenant),
                "endpoint" => Ok(Self::Endpoint),
                "ip" => Ok(Self::Ip),
                _ => Err(bad()),
            },
            Some(("header", name)) => HeaderName::from_str(name).map(Self::Header).map_err(|_| bad()),
            Some(("field", pointer)) if pointer.starts_with('/') => Ok(Self::Field(pointer.to_owned())),
            Some(("path", name)) if !name.is_empty() => Ok(Self::Path(name.to_owned())),
            Some(_) => Err(bad()),
        }
    }
}

impl fmt::Display for KeyPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Caller => f.write_str("caller"),
            Self::Tenant => f.write_str("tenant"),
            Self::Endpoint => f.write_str("endpoint"),
            Self::Header(name) => write!(f, "header:{name}"),
            Self::Field(pointer) => write!(f, "field:{pointer}"),
            Self::Path(name) => write!(f, "path:{name}"),
            Self::Ip => f.write_str("ip"),
        }
    }
}

impl KeyPart {
    pub(crate) fn of<'r>(
        &self,
        request: &'r Request<'_>,
        matched: &Match,
        variables: &'r Variables,
    ) -> KeyPartValue<'r> {
        let brought = |value: Option<Cow<'r, str>>| value.map_or(KeyPartValue::Missing, KeyPartValue::Brought);
        match self {
            Self::Caller => named(request.caller),
            Self::Tenant => tenant(request, variables),
            Self::Endpoint => endpoint(request, matched),
            Self::Header(name) => brought(request.header_bytes(name)),
            Self::Field(pointer) => brought(request.body.and_then(|body| field(body.pointer(pointer)?))),
            Self::Path(name) => brought(variables.get(name).map(Cow::from)),
            Self::Ip => brought(request.ip.map(|ip| Cow::from(address(ip)))),
        }
    }
}

fn named(name: Option<&str>) -> KeyPartValue<'_> {
    name.map_or(KeyPartValue::Missing, |name| KeyPartValue::Named(name.into()))
}

fn tenant<'r>(request: &'r Request<'_>, variables: &'r Variables) -> KeyPartValue<'r> {
    let of_path = || variables.iter().find(|(name, _)| names_tenant(name)).map(|(_, value)| value);
    match (request.tenant, of_path()) {
        (None, Some(value)) => KeyPartValue::Brought(value.into()),
        (tenant, _) => named(tenant.or(request.caller)),
    }
}

fn names_tenant(name: &str) -> bool {
    let plain: String = name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let plain = plain.strip_suffix("id").unwrap_or(&plain);
    matches!(plain, "tenant" | "org" | "organization" | "organisation")
}

fn endpoint(request: &Request<'_>, matched: &Match) -> KeyPartValue<'static> {
    let method = request.method.to_ascii_uppercase();
    match matched.path() {
        Some(template) if template.names_one_endpoint() => {
            let name = format!("{method} {template}").into();
            // Clients can send any number of unknown methods.
            let is_known = method.is_empty() || METHODS.contains(&&*method) || matched.names_method(&method);
            if is_known { KeyPartValue::Named(name) } else { KeyPartValue::Brought(name) }
        }
        _ => KeyPartValue::Brought(format!("{method} {}", normalized(request.path)).into()),
    }
}

fn field(value: &Json) -> Option<Cow<'_, str>> {
    match value {
        Json::Null => None,
        Json::String(text) => Some(text.into()),
        other => Some(other.to_string().into()),
    }
}

/// Returns the network of a client: an IPv4 address, or the first 64 bits of an IPv6 address, which one subscriber has.
#[must_use]
pub fn subscriber(ip: IpAddr) -> IpAddr {
    match ip.to_canonical() {
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

fn address(ip: IpAddr) -> String {
    subscriber(ip).to_string().replace(':', ".")
}

/// Returns short plain text unchanged, so that keys can be read, and the hash of any other value.
pub(crate) fn plain_or_hash(value: &str) -> String {
    let plain = !value.is_empty()
        && value != MISSING
        && value.len() <= LONGEST_PLAIN
        && value
            .bytes()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, b'.' | b'_' | b'-' | b'@' | b'/' | b'+' | b'='));
    if plain { value.to_owned() } else { format!("~{}", URL_SAFE_NO_PAD.encode(&digest(value.as_bytes())[..16])) }
}

pub(crate) fn digest(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

#[cfg(test)]
mod tests;
