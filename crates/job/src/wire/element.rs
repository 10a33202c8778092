//! Encodes a job as a list element, readable with `LRANGE`, and parses it.
//!
//! An element is a JSON object with string members, named like the fields of a stream entry. Empty values are omitted.
//! A body is in `body_base64` if it isn't UTF-8, or if it is large and base64 is shorter than its JSON string. The
//! admit script prepends `id` and `expires`.

use std::collections::HashMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::de::{self, Deserialize, Deserializer};

use crate::names::JobId;
use crate::submission::Submission;
use crate::wire::entry::{self, Job, LAYOUT, Unreadable};

const BODY_BASE64: &str = "body_base64";
const VERSION: &str = "v";
/// Larger bodies become base64 if that is shorter: as a JSON string a body may be six times as long.
const LARGE: usize = 64 * 1024;

/// Returns the element of a new job without the members that the admit script prepends.
#[must_use]
pub fn encode(submission: &Submission) -> String {
    let mut content = String::with_capacity(submission.body.len() + 64);
    // The version comes last, where `is_ours` expects it.
    for (name, value) in entry::encode(submission).fields().filter(|(name, _)| *name != VERSION) {
        let separator = if content.is_empty() { '{' } else { ',' };
        match (name, std::str::from_utf8(value)) {
            ("body", text) => push_body(&mut content, separator, value, text.ok()),
            (_, Ok(text)) if !text.is_empty() => push(&mut content, separator, name, &quoted(text)),
            _ => {}
        }
    }
    push(&mut content, ',', VERSION, &quoted(LAYOUT));
    content.push('}');
    content
}

fn push_body(content: &mut String, separator: char, body: &[u8], text: Option<&str>) {
    let most = base64::encoded_len(body.len(), true).filter(|_| body.len() > LARGE).unwrap_or(usize::MAX);
    match text.map(quoted).filter(|text| text.len() <= most) {
        Some(text) => push(content, separator, "body", &text),
        None => push(content, separator, BODY_BASE64, &quoted(&STANDARD.encode(body))),
    }
}

fn push(content: &mut String, separator: char, name: &str, value: &str) {
    content.push(separator);
    content.push('"');
    content.push_str(name);
    content.push_str("\":");
    content.push_str(value);
}

fn quoted(text: &str) -> String {
    // Text always serializes.
    serde_json::to_string(text).unwrap_or_default()
}

/// Parses a whole element.
///
/// # Errors
/// When its checksum differs, it isn't a JSON object with string members, or one of these can't be parsed.
pub fn decode(id: JobId, element: &[u8]) -> Result<Job, Unreadable> {
    let fields = fields(element).map_err(|error| if is_ours(element) { Unreadable::Corrupt } else { error })?;
    let job = entry::decode(id, &fields)?;
    Ok(Job { bytes: counted_bytes(element), ..job })
}

/// Returns the members as fields of a stream entry.
///
/// # Errors
/// When the element isn't a JSON object with string members.
pub fn fields(element: &[u8]) -> Result<Vec<(Bytes, Bytes)>, Unreadable> {
    let members: HashMap<String, Text> = serde_json::from_slice(element).map_err(|_| Unreadable::Element)?;
    members.into_iter().map(|(name, Text(value))| field(name, value)).collect()
}

fn field(name: String, value: Bytes) -> Result<(Bytes, Bytes), Unreadable> {
    if name == BODY_BASE64 {
        let body = STANDARD.decode(value).map_err(|_| Unreadable::Field(BODY_BASE64))?;
        return Ok((Bytes::from_static(b"body"), body.into()));
    }
    Ok((name.into(), value))
}

/// Returns the bytes that an element counts against `capacity_bytes`: the length of its content, as `encode` returned
/// it. Elements that were added by hand count 0.
#[must_use]
pub fn counted_bytes(element: &[u8]) -> u64 {
    if !is_ours(element) {
        return 0;
    }
    let mut content = element.strip_prefix(b"{").unwrap_or_default();
    for name in ["id", "expires", "deliveries", "throttled"] {
        content = without_member(content, name).unwrap_or(content);
    }
    content.len() as u64 + 1
}

/// Whether dripfeed wrote the element: it ends with the version, whose quotes would be escaped within a string.
fn is_ours(element: &[u8]) -> bool {
    element.ends_with(format!(r#","v":"{LAYOUT}"}}"#).as_bytes())
}

/// What follows `"name":"…",` if `content` begins with it. The value must not have escapes.
fn without_member<'a>(content: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let rest = content.strip_prefix(b"\"")?.strip_prefix(name.as_bytes())?.strip_prefix(b"\":\"")?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    rest[end..].strip_prefix(b"\",")
}

/// A JSON string. Its bytes may not be UTF-8 if it was added by hand.
struct Text(Bytes);

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_bytes<E: de::Error>(self, bytes: &[u8]) -> Result<Text, E> {
                Ok(Text(Bytes::copy_from_slice(bytes)))
            }
        }
        deserializer.deserialize_bytes(Visitor)
    }
}

#[cfg(test)]
mod tests;
