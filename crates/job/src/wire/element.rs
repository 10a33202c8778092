//! Encodes a job as a list element, readable with `LRANGE`, and parses it.
//!
//! An element is one JSON object with string members, named like the fields of a stream entry. Empty values are
//! omitted. A body that isn't UTF-8, or that is large and longer as a JSON string, is in `body_base64`. The admit
//! script prepends `id` and `expires`.

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
/// As a JSON text a body may be six times as long. Nobody reads a large one in a terminal.
const LARGE: usize = 64 * 1024;

/// The content of a new job's element: all but what the admit script puts in front.
#[must_use]
pub fn encode(submission: &Submission) -> String {
    let mut content = String::with_capacity(submission.body.len() + 64);
    // The version comes last: by it an element is known as ours.
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

/// Reads a whole element.
///
/// # Errors
/// When it isn't as it was written, isn't a JSON object of texts, or one of them says nothing that can be used.
pub fn decode(id: JobId, element: &[u8]) -> Result<Job, Unreadable> {
    let fields = fields(element).map_err(|error| if is_ours(element) { Unreadable::Corrupt } else { error })?;
    let job = entry::decode(id, &fields)?;
    Ok(Job { bytes: counted_bytes(element), ..job })
}

/// The members, as a stream entry's fields.
///
/// # Errors
/// When it isn't a JSON object of texts.
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

/// What an element counts against its bucket's bytes: the length of its content, as `encode` made it. Foreign elements
/// count nothing.
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

/// By its end, where `encode` puts the layout's version: in a text the quotes of such an end would be escaped.
fn is_ours(element: &[u8]) -> bool {
    element.ends_with(format!(r#","v":"{LAYOUT}"}}"#).as_bytes())
}

/// What follows `"name":"…",` where `content` begins with it; the value has nothing escaped.
fn without_member<'a>(content: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let rest = content.strip_prefix(b"\"")?.strip_prefix(name.as_bytes())?.strip_prefix(b"\":\"")?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    rest[end..].strip_prefix(b"\",")
}

/// A JSON text; its bytes are UTF-8 unless somebody else has put others into the list.
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
