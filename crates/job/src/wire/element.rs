//! How a job is written into an element of a list, readable with `LRANGE`, and read back.
//!
//! An element is one JSON object whose members are texts, named as a stream entry's fields; what says nothing is left
//! out, and a body that is no UTF-8, or large and longer as a JSON text, stands in `body_base64`. The admit script puts
//! `id` and `expires` in front.

use std::collections::HashMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::de::{self, Deserialize, Deserializer};

use crate::id::JobId;
use crate::submission::Submission;
use crate::wire::entry::{self, FIELDS, Job, LAYOUT, Unreadable};

const BODY_BASE64: &str = "body_base64";
/// As a JSON text a body may be six times as long. Nobody reads a large one in a terminal.
const LARGE: usize = 64 * 1024;

/// The content of a new job's element: all but what the admit script puts in front.
#[must_use]
pub fn encode(submission: &Submission) -> String {
    let mut content = String::with_capacity(submission.body.len() + 64);
    for (name, value) in FIELDS.into_iter().zip(entry::encode(submission)) {
        let separator = if content.is_empty() { '{' } else { ',' };
        match (name, std::str::from_utf8(value.as_bytes())) {
            ("body", text) => push_body(&mut content, separator, value.as_bytes(), text.ok()),
            (_, Ok(text)) if !text.is_empty() => push(&mut content, separator, name, &quoted(text)),
            _ => {}
        }
    }
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
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use std::time::Duration;

    use http::Method;

    use super::*;
    use crate::path::UpstreamPath;

    /// As the admit script completes it.
    fn element(submission: &Submission) -> String {
        encode(submission).replacen('{', r#"{"id":"17-0","expires":"1700","#, 1)
    }

    #[test]
    fn a_job_reads_back_as_it_was_submitted() {
        let mut submission = Submission {
            body: Bytes::from_static("{\"n\": \"täglich\u{0}\"}\n".as_bytes()),
            content_type: Some("application/json".to_owned()),
            method: Some(Method::PUT),
            path: UpstreamPath::parse("/a?b=c").ok(),
            caller: Some("alice".to_owned()),
            retries: Some(0),
            timeout: Some(Duration::from_millis(1500)),
            ..Submission::default()
        };
        submission.headers.push("x-a", "1 \"2\"").unwrap();
        let job = decode(JobId::new(17, 0), element(&submission).as_bytes()).unwrap();
        assert_eq!(job.body, submission.body);
        assert_eq!(job.content_type, submission.content_type);
        assert_eq!(job.method, submission.method);
        assert_eq!(job.path, submission.path);
        assert_eq!(job.headers, submission.headers);
        assert_eq!(job.caller, submission.caller);
        assert_eq!(job.retries, submission.retries);
        assert_eq!(job.timeout, submission.timeout);
        assert_eq!(job.expires_ms, Some(1700));
        assert_eq!(job.bytes, encode(&submission).len() as u64);
    }

    #[test]
    fn an_element_is_readable_and_says_nothing_needless() {
        let text = Submission { body: Bytes::from_static(b"{\"n\":1}"), ..Submission::default() };
        let without_sum = |submission: &Submission| {
            let element = encode(submission);
            let (before, sum) = element.split_once(r#","sum":""#).unwrap();
            format!("{before}{}", &sum[r#"0123456789abcdef""#.len()..])
        };
        assert_eq!(without_sum(&text), r#"{"body":"{\"n\":1}","v":"1"}"#);
        assert_eq!(without_sum(&Submission::default()), r#"{"body":"","v":"1"}"#);
        let raw = Submission { body: Bytes::from_static(b"\x00\xff"), ..Submission::default() };
        assert_eq!(without_sum(&raw), r#"{"body_base64":"AP8=","v":"1"}"#);
        assert_eq!(decode(JobId::new(17, 0), element(&raw).as_bytes()).unwrap().body, raw.body);
    }

    #[test]
    fn a_large_body_grows_by_no_more_than_a_third() {
        for (byte, as_text) in [("x", true), ("\u{1}", false), ("\"", false)] {
            let large = Submission { body: byte.repeat(LARGE + 1).into(), ..Submission::default() };
            let element = element(&large);
            assert!(element.len() <= LARGE * 4 / 3 + 100, "{byte:?}: {}", element.len());
            assert_eq!(element.contains(r#""body":"#), as_text, "{byte:?}");
            assert_eq!(decode(JobId::new(17, 0), element.as_bytes()).unwrap().body, large.body);
            let small = Submission { body: byte.repeat(LARGE).into(), ..Submission::default() };
            assert!(encode(&small).contains(r#""body":"#), "{byte:?}");
        }
    }

    #[test]
    fn an_element_that_is_not_what_was_admitted_is_corrupt() {
        let whole = element(&Submission { body: Bytes::from_static(b"two"), ..Submission::default() });
        let decode = |element: &str| decode(JobId::new(17, 0), element.as_bytes()).map(|_| ());
        assert_eq!(decode(&whole), Ok(()));
        for (part, other) in [("two", "too"), (r#""two""#, "two"), ("two", "\\"), ("body", "corps"), ("sum", "summe")] {
            assert_eq!(decode(&whole.replacen(part, other, 1)), Err(Unreadable::Corrupt), "{part} → {other}");
        }
    }

    #[test]
    fn a_foreign_body_keeps_its_bytes_and_counts_nothing() {
        let job = decode(JobId::new(1, 0), b"{\"id\":\"1-0\",\"body\":\"a\\\"\xff\"}").unwrap();
        assert_eq!((job.body.as_ref(), job.bytes), (b"a\"\xff".as_slice(), 0));
        let quoted = br#"{"id":"1-0","body":"{\"n\":1,\"v\":\"1\"}"}"#;
        assert_eq!(counted_bytes(quoted), 0);
    }

    #[test]
    fn what_is_no_job_says_what_is_wrong() {
        let decode = |text: &str| decode(JobId::new(1, 0), text.as_bytes()).map(|_| ());
        for text in [r#"{"id":"1-0","body":"#, r#"{"id":"1-0","body":1}"#, r#"{"id":"1-0","body":["a"]}"#, "[]", ""] {
            assert_eq!(decode(text), Err(Unreadable::Element), "{text}");
        }
        assert_eq!(decode(r#"{"id":"1-0"}"#), Err(Unreadable::NoBody));
        assert_eq!(decode(r#"{"id":"1-0","body_base64":"?"}"#), Err(Unreadable::Field("body_base64")));
        assert_eq!(decode(r#"{"id":"1-0","body":"","path":"/../x"}"#), Err(Unreadable::Field("path")));
    }
}
