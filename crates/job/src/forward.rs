//! The headers of a job that are forwarded to the upstream.

use std::collections::HashSet;

use http::{HeaderMap, HeaderName, HeaderValue, header};
use thiserror::Error;

use crate::preferences::{self, PREFER};

/// The most headers that one job forwards.
pub const MOST: usize = 64;
const MOST_BYTES: usize = 16 * 1024;

/// The prefix of the name of the dashboard's session cookie, and the one before that over TLS.
pub const SESSION_COOKIE: &str = "dripfeed_";
pub const SECURE_COOKIE: &str = "__Host-";

/// The tick of a schedule's job (RFC 3339).
pub const SCHEDULED_FOR: HeaderName = HeaderName::from_static("dripfeed-scheduled-for");

/// At most 64 headers and 16 KiB, without connection headers and headers that dripfeed sets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ForwardHeaders {
    fields: Vec<(HeaderName, HeaderValue)>,
    /// The bytes of all names and values.
    bytes: usize,
}

/// Headers of a proxied request about the client's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAddress {
    /// Removed, because any caller can write them.
    Dropped,
    /// Forwarded, because proxies before the intake set them.
    Forwarded,
}

#[derive(Debug, Error, PartialEq, Eq)]
pub enum BadForward {
    #[error("`{0}` is not a valid header name")]
    Name(String),
    #[error("invalid value of the header `{0}`: use visible characters of UTF-8 without line breaks")]
    Value(String),
    #[error("`{0}` is a connection header and can't be forwarded: omit it")]
    Connection(String),
    #[error("`{0}` is set by dripfeed: omit it")]
    Own(String),
    #[error("`{0}` identifies the client of a call and can't be set by a caller: omit it")]
    ClientAddress(String),
    #[error("more than {MOST} headers, or {MOST_BYTES} bytes of headers, to forward")]
    TooMany,
}

impl ForwardHeaders {
    /// Adds one header that a caller asked to forward.
    ///
    /// # Errors
    /// For a connection header, a header set by dripfeed or by proxies, and too many headers.
    pub fn push(&mut self, name: &str, value: &str) -> Result<(), BadForward> {
        let (name, value) = read(name, value)?;
        if is_client_address(&name) {
            return Err(BadForward::ClientAddress(name.to_string()));
        }
        self.add(name, value)
    }

    /// Adds the tick for which a schedule submits the job.
    ///
    /// # Errors
    /// For too many headers, or too many bytes of them.
    pub fn push_scheduled_for(&mut self, tick: &str) -> Result<(), BadForward> {
        let value = HeaderValue::from_str(tick).map_err(|_| BadForward::Value(SCHEDULED_FOR.to_string()))?;
        self.add(SCHEDULED_FOR, value)
    }

    /// Adds a header if it is within the limits.
    fn add(&mut self, name: HeaderName, value: HeaderValue) -> Result<(), BadForward> {
        let bytes = self.bytes + weight(&name, &value);
        if self.fields.len() == MOST || bytes > MOST_BYTES {
            return Err(BadForward::TooMany);
        }
        self.bytes = bytes;
        self.fields.push((name, value));
        Ok(())
    }

    /// Creates the headers of a proxied request, without connection headers, those of dripfeed, the preference `wait`,
    /// and the session cookie of the dashboard, which browsers send to all paths of an intake.
    ///
    /// # Errors
    /// For too many headers, or too many bytes of them.
    pub fn of_request(headers: &HeaderMap, client_address: ClientAddress) -> Result<Self, BadForward> {
        let named_by_connection: HashSet<HeaderName> = headers
            .get_all(header::CONNECTION)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','))
            .filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok())
            .collect();
        let mut forward = Self::default();
        for (name, value) in headers {
            if belongs_to_connection(name) || is_sent_by_dripfeed(name) || named_by_connection.contains(name) {
                continue;
            }
            if client_address == ClientAddress::Dropped && is_client_address(name) {
                continue;
            }
            if text_of(value).is_none() {
                return Err(BadForward::Value(name.to_string()));
            }
            if let Some(value) = without_session(name, value).and_then(|value| without_wait(name, value)) {
                forward.add(name.clone(), value)?;
            }
        }
        Ok(forward)
    }

    /// Removes a header, such as one with the caller's key.
    pub fn remove(&mut self, name: &HeaderName) {
        self.fields.retain(|(field, _)| field != name);
        self.bytes = self.fields.iter().map(|(name, value)| weight(name, value)).sum();
    }

    pub fn iter(&self) -> impl Iterator<Item = &(HeaderName, HeaderValue)> {
        self.fields.iter()
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Returns the field of a stream entry: a JSON array of `[name, value]`, or an empty string.
    #[must_use]
    pub fn to_field(&self) -> String {
        if self.fields.is_empty() {
            return String::new();
        }
        let pairs: Vec<(&str, &str)> =
            self.fields.iter().map(|(name, value)| (name.as_str(), text_of(value).unwrap_or_default())).collect();
        serde_json::to_string(&pairs).unwrap_or_default()
    }

    /// Parses the output of `to_field`. Returns `None` if it is malformed.
    #[must_use]
    pub fn from_field(field: &str) -> Option<Self> {
        if field.is_empty() {
            return Some(Self::default());
        }
        let pairs: Vec<(String, String)> = serde_json::from_str(field).ok()?;
        let mut headers = Self::default();
        for (name, value) in pairs {
            if SCHEDULED_FOR == *name {
                headers.push_scheduled_for(&value).ok()?;
                continue;
            }
            let (name, value) = read(&name, &value).ok()?;
            headers.add(name, value).ok()?;
        }
        Some(headers)
    }
}

/// Parses and validates a header.
fn read(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), BadForward> {
    let shown = || name.chars().take(64).collect::<String>();
    let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| BadForward::Name(shown()))?;
    let value = HeaderValue::from_str(value).map_err(|_| BadForward::Value(shown()))?;
    if belongs_to_connection(&name) {
        return Err(BadForward::Connection(shown()));
    }
    if is_sent_by_dripfeed(&name) {
        return Err(BadForward::Own(shown()));
    }
    Ok((name, value))
}

/// The cookies without that of the dashboard's session. Returns `None` if no other is left.
fn without_session(name: &HeaderName, value: &HeaderValue) -> Option<HeaderValue> {
    let is_session = |cookie: &&str| {
        let cookie = cookie.trim();
        cookie.strip_prefix(SECURE_COOKIE).unwrap_or(cookie).starts_with(SESSION_COOKIE)
    };
    let cookies = text_of(value).filter(|cookies| name == header::COOKIE && cookies.contains(SESSION_COOKIE));
    let Some(cookies) = cookies else { return Some(value.clone()) };
    let others: Vec<&str> = cookies.split(';').filter(|cookie| !is_session(cookie)).map(str::trim).collect();
    if others.is_empty() { None } else { HeaderValue::from_str(&others.join("; ")).ok() }
}

/// The preferences without `wait`. Returns `None` if no other is left.
fn without_wait(name: &HeaderName, value: HeaderValue) -> Option<HeaderValue> {
    if *name != PREFER {
        return Some(value);
    }
    HeaderValue::from_str(&preferences::for_upstream(text_of(&value)?)?).ok()
}

/// Returns the value as text if it is UTF-8, which clients send for example in file names; `HeaderValue::to_str` allows
/// only ASCII. Entries can't store other bytes.
#[must_use]
pub fn text_of(value: &HeaderValue) -> Option<&str> {
    str::from_utf8(value.as_bytes()).ok()
}

fn weight(name: &HeaderName, value: &HeaderValue) -> usize {
    name.as_str().len() + value.len()
}

fn is_client_address(name: &HeaderName) -> bool {
    matches!(name.as_str(), "forwarded" | "x-forwarded-for" | "x-real-ip")
}

fn belongs_to_connection(name: &HeaderName) -> bool {
    let hop_by_hop = [
        header::HOST,
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
        header::CONNECTION,
        header::TE,
        header::TRAILER,
        header::UPGRADE,
        header::EXPECT,
    ];
    hop_by_hop.contains(name) || name.as_str() == "keep-alive" || name.as_str().starts_with("proxy-")
}

fn is_sent_by_dripfeed(name: &HeaderName) -> bool {
    let own =
        ["content-type", "idempotency-key", "traceparent", "webhook-id", "webhook-timestamp", "webhook-signature"];
    own.contains(&name.as_str()) || name.as_str().starts_with("dripfeed-")
}

#[cfg(test)]
mod tests;
