//! Encodes a job as a stream entry, readable with `XRANGE`, and parses it.
//!
//! Every job has the fields of `FIELDS`, in this order. Optional fields follow, only if they have a value: each field
//! costs Redis time, on the way in and out. Redis stores the names once per node as long as all entries have the same
//! ones. The admit script writes `due` and `expires`, by the Redis clock. Entries of a plain `XADD` are jobs too:
//! `body` is enough, or `request_details`, as the published recipe calls it.

mod texts;

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use thiserror::Error;
use xxhash_rust::xxh3::Xxh3Default;

use self::texts::{priority_text, retries_text, timeout_text};
use crate::chain::Chain;
use crate::forward::ForwardHeaders;
use crate::group::Group;
use crate::names::JobId;
use crate::path::UpstreamPath;
use crate::priority::Priority;
use crate::submission::Submission;

/// The fields that each has, in their order, and what stands in them: raw bytes · MIME type, which may be empty ·
/// checksum · layout version.
pub const FIELDS: [&str; 4] = ["body", "content_type", "sum", "v"];

/// The fields that only those have of which they say something: method · path and query · `[[name, value]]` as JSON ·
/// caller · W3C trace context · attempts after the first · ms for one attempt. And the first due time and the deadline,
/// ms since the epoch, which Redis writes. Earlier releases wrote the first four into each job, empty or not.
const OPTIONS: [&str; 7] = ["method", "path", "headers", "caller", "traceparent", "retries", "timeout"];

/// The same of what a replica of an earlier release doesn't know: `high` or `low` · group · what is to become of the
/// outcome. The checksum doesn't cover it, so that such a replica calls the job.
const UNCOVERED: [&str; 3] = ["priority", "group", "chain"];

/// What the checksum covers, in its order. Where a field is missing, its part is empty.
const COVERED: [&str; 10] =
    ["body", "content_type", "method", "path", "headers", "caller", "traceparent", "retries", "timeout", "v"];

/// The most fields of an entry. Ours has far fewer; a foreign one with more is no job.
const MOST_FIELDS: usize = 100;

/// Of a checksum.
const CHECKSUM_DIGITS: usize = 16;

/// What Redis writes by its own clock: not known when a job is weighed and its checksum made.
const BY_REDIS: [&str; 2] = ["due", "expires"];

/// The layout's version, also the mark by which our own entries are known from foreign ones.
pub(crate) const LAYOUT: &str = "1";

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

/// A field's value: owned text, or the body shared with the submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldValue {
    Bytes(Bytes),
    Text(String),
}

impl Default for FieldValue {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl FieldValue {
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Text(text) => text.as_bytes(),
        }
    }
}

/// A new job's fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntry {
    /// The values of `FIELDS`.
    pub values: [FieldValue; FIELDS.len()],
    /// Names and values of what not every job has.
    pub options: Vec<(&'static str, String)>,
}

impl NewEntry {
    /// Names and values, in their order.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &[u8])> {
        let values = FIELDS.into_iter().zip(self.values.iter().map(FieldValue::as_bytes));
        values.chain(self.options.iter().map(|(name, value)| (*name, value.as_bytes())))
    }

    /// What it counts against the bucket's bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.fields().map(|(_, value)| value.len()).sum()
    }
}

/// A new job's fields, but for `due` and `expires`, which the admit script writes.
#[must_use]
pub fn encode(submission: &Submission) -> NewEntry {
    let text = |value: Option<&str>| value.unwrap_or_default().to_owned();
    let body = FieldValue::Bytes(submission.body.clone());
    let content_type = FieldValue::Text(text(submission.content_type.as_deref()));
    let options = [
        text(submission.method.as_ref().map(Method::as_str)),
        text(submission.path.as_ref().map(UpstreamPath::as_str)),
        submission.headers.to_field(),
        text(submission.caller.as_deref()),
        text(submission.traceparent.as_deref()),
        retries_text(submission),
        timeout_text(submission),
    ];
    let [priority, group] = [priority_text(submission), submission.group.as_ref().map(Group::as_str)].map(text);
    let uncovered = [priority, group, submission.chain.to_field()];
    let covered = [&body, &content_type].map(FieldValue::as_bytes);
    let sum = checksum(covered.into_iter().chain(options.iter().map(String::as_bytes)).chain([LAYOUT.as_bytes()]));
    NewEntry {
        values: [body, content_type, FieldValue::Text(sum), FieldValue::Text(LAYOUT.to_owned())],
        options: OPTIONS
            .into_iter()
            .zip(options)
            .chain(UNCOVERED.into_iter().zip(uncovered))
            .filter(|(_, value)| !value.is_empty())
            .collect(),
    }
}

/// [`NewEntry::bytes`] of this submission's entry, without making one.
#[must_use]
pub fn bytes_of(submission: &Submission) -> usize {
    texts::bytes_of(submission) + CHECKSUM_DIGITS + LAYOUT.len()
}

/// By which a job that was changed in Redis is known. It finds corruption, not intent: anyone who may write to Redis
/// can write another checksum too. Hexadecimal digits over the parts, each led by its length: XXH3, about 100 ns for
/// a job of 2 KiB.
fn checksum<'a>(parts: impl Iterator<Item = &'a [u8]>) -> String {
    let mut hash = Xxh3Default::new();
    for part in parts {
        hash.update(&(part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    format!("{:0CHECKSUM_DIGITS$x}", hash.digest())
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
        self.get("sum").is_some_and(|written| *written == sum)
    }

    fn text(&self, name: &'static str) -> Result<Option<&'a str>, Unreadable> {
        let Some(value) = self.get(name).filter(|value| !value.is_empty()) else { return Ok(None) };
        std::str::from_utf8(value).map(Some).map_err(|_| Unreadable::Field(name))
    }

    fn parse<T>(&self, name: &'static str, read: impl FnOnce(&str) -> Option<T>) -> Result<Option<T>, Unreadable> {
        self.text(name)?.map(|text| read(text).ok_or(Unreadable::Field(name))).transpose()
    }
}

#[cfg(test)]
pub(super) mod tests;
