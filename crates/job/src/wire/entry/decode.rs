//! Reads a job from its entry, unless it isn't as it was written, or isn't a job.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use thiserror::Error;

use super::encode::{COVERED, checksum};
use crate::chain::Chain;
use crate::forward::ForwardHeaders;
use crate::group::Group;
use crate::names::JobId;
use crate::path::UpstreamPath;
use crate::priority::Priority;

/// The most fields of an entry. Ours has far fewer; a foreign one with more is no job.
const MOST_FIELDS: usize = 100;

/// What Redis writes by its own clock: not known when a job is weighed and its checksum made.
const BY_REDIS: [&str; 2] = ["due", "expires"];

/// A job as a replica reads it.
#[derive(Clone, Debug)]
pub struct Job {
    pub id: JobId,
    pub body: Bytes,
    pub content_type: Option<String>,
    pub method: Option<Method>,
    pub path: Option<UpstreamPath>,
    pub headers: ForwardHeaders,
    pub caller: Option<String>,
    pub traceparent: Option<String>,
    /// First due time, ms since the epoch, Redis clock.
    pub due_ms: Option<u64>,
    /// Ms since the epoch, Redis clock.
    pub expires_ms: Option<u64>,
    pub retries: Option<u32>,
    pub timeout: Option<Duration>,
    /// None: normal.
    pub priority: Option<Priority>,
    pub group: Option<Group>,
    pub chain: Chain,
    /// What the entry counts against the bucket's bytes; 0 for a foreign entry, which was never counted.
    pub bytes: u64,
}

/// Why an entry is no job. It is buried with this reason.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Unreadable {
    #[error("corrupt: the checksum doesn't match the accepted job")]
    Corrupt,
    #[error("the entry has {0} fields: a job has at most {MOST_FIELDS}")]
    Fields(usize),
    #[error("the entry has neither a `body` nor a `request_details` field")]
    NoBody,
    #[error("the field `{0}` can't be parsed")]
    Field(&'static str),
    #[error("the element isn't a JSON object with string members")]
    Element,
}

/// Reads an entry's fields.
///
/// # Errors
/// When it isn't as it was written, or isn't a job.
pub fn decode(id: JobId, fields: &[(Bytes, Bytes)]) -> Result<Job, Unreadable> {
    let entry = Entry(fields);
    if entry.is_ours() && !entry.is_intact() {
        return Err(Unreadable::Corrupt);
    }
    if fields.len() > MOST_FIELDS {
        return Err(Unreadable::Fields(fields.len()));
    }
    let body = entry.get("body").or_else(|| entry.get("request_details")).ok_or(Unreadable::NoBody)?;
    Ok(Job {
        id,
        body: body.clone(),
        content_type: entry.text("content_type")?.map(str::to_owned),
        method: entry.parse("method", |text| Method::from_bytes(text.as_bytes()).ok())?,
        path: entry.parse("path", |text| UpstreamPath::parse(text).ok())?,
        headers: entry.parse("headers", ForwardHeaders::from_field)?.unwrap_or_default(),
        caller: entry.text("caller")?.map(str::to_owned),
        traceparent: entry.text("traceparent")?.map(str::to_owned),
        due_ms: entry.parse("due", |text| text.parse().ok())?,
        expires_ms: entry.parse("expires", |text| text.parse().ok())?,
        retries: entry.parse("retries", |text| text.parse().ok())?,
        timeout: entry.parse("timeout", |text| text.parse().ok().map(Duration::from_millis))?,
        // The call doesn't go by these: what somebody else has written there doesn't make it unreadable.
        priority: entry.text("priority").ok().flatten().and_then(|text| text.parse().ok()),
        group: entry.text("group").ok().flatten().and_then(|text| text.parse().ok()),
        chain: entry.text("chain").ok().flatten().and_then(Chain::from_field).unwrap_or_default(),
        bytes: counted_bytes(fields),
    })
}

/// What an entry counts against its bucket's bytes: the lengths of its values as they were sent. The two times that
/// Redis writes are left out, so that what is returned is what was taken.
#[must_use]
pub fn counted_bytes(fields: &[(Bytes, Bytes)]) -> u64 {
    if !Entry(fields).is_ours() {
        return 0;
    }
    let counted = fields.iter().filter(|(name, _)| !BY_REDIS.iter().any(|by_redis| name == by_redis));
    counted.map(|(_, value)| value.len() as u64).sum()
}

struct Entry<'a>(&'a [(Bytes, Bytes)]);

impl<'a> Entry<'a> {
    fn get(&self, name: &str) -> Option<&'a Bytes> {
        self.0.iter().find(|(field, _)| field == name).map(|(_, value)| value)
    }

    fn is_ours(&self) -> bool {
        self.get("v").is_some()
    }

    fn is_intact(&self) -> bool {
        let sum = checksum(COVERED.into_iter().map(|name| self.get(name).map_or(&[][..], |value| value)));
        self.get("sum").is_some_and(|written| **written == sum)
    }

    fn text(&self, name: &'static str) -> Result<Option<&'a str>, Unreadable> {
        let Some(value) = self.get(name).filter(|value| !value.is_empty()) else { return Ok(None) };
        std::str::from_utf8(value).map(Some).map_err(|_| Unreadable::Field(name))
    }

    fn parse<T>(&self, name: &'static str, read: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>, Unreadable> {
        self.text(name)?.map(|text| read(text).ok_or(Unreadable::Field(name))).transpose()
    }
}
