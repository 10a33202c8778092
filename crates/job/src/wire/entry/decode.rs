//! Parses a job from its entry, and verifies its checksum.

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

/// The maximum number of fields of a job. Entries of dripfeed have far fewer.
const MAX_FIELDS: usize = 100;

/// The fields that the admit script writes, after the intake has computed size and checksum.
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
    /// When the job is first due, in ms since the epoch, by the Redis clock.
    pub due_ms: Option<u64>,
    /// The deadline, in ms since the epoch, by the Redis clock.
    pub expires_ms: Option<u64>,
    pub retries: Option<u32>,
    pub timeout: Option<Duration>,
    /// By default normal.
    pub priority: Option<Priority>,
    pub group: Option<Group>,
    pub chain: Chain,
    /// The bytes that the entry counts against `capacity_bytes`; 0 for an entry of a plain `XADD`.
    pub bytes: u64,
}

/// Why an entry can't be read as a job. It is dead-lettered with this reason.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum Unreadable {
    #[error("corrupt: the checksum doesn't match the accepted job")]
    Corrupt,
    #[error("the entry has {0} fields: a job has at most {MAX_FIELDS}")]
    Fields(usize),
    #[error("the entry has neither a `body` nor a `request_details` field")]
    NoBody,
    #[error("the field `{0}` can't be parsed")]
    Field(&'static str),
    #[error("the element isn't a JSON object with string members")]
    Element,
}

/// Parses the fields of an entry.
///
/// # Errors
/// When the checksum differs, or the fields aren't those of a job.
pub fn decode(id: JobId, fields: &[(Bytes, Bytes)]) -> Result<Job, Unreadable> {
    let entry = Entry(fields);
    if entry.is_ours() && !entry.is_intact() {
        return Err(Unreadable::Corrupt);
    }
    if fields.len() > MAX_FIELDS {
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
        // The call doesn't depend on these, so invalid values, written by hand, are ignored.
        priority: entry.text("priority").ok().flatten().and_then(|text| text.parse().ok()),
        group: entry.text("group").ok().flatten().and_then(|text| text.parse().ok()),
        chain: entry.text("chain").ok().flatten().and_then(Chain::from_field).unwrap_or_default(),
        bytes: counted_bytes(fields),
    })
}

/// Returns the bytes that an entry counts against `capacity_bytes`: the lengths of its values, without the two times
/// that Redis writes, so that the bytes subtracted at its end are those that were added.
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
