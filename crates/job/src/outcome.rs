//! The outcome of a job, which is recorded once and never changes.

pub mod answer;
pub mod failed_attempt;
pub mod last_status;
pub mod outcome_job;
pub mod rate_limit;
pub mod retry;
pub mod retry_after;
pub mod state;

use std::fmt;
use std::str::FromStr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use thiserror::Error;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    Delivered,
    Dead,
    Expired,
    Cancelled,
}

impl Ending {
    pub const ALL: [Self; 4] = [Self::Delivered, Self::Dead, Self::Expired, Self::Cancelled];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Delivered => "delivered",
            Self::Dead => "dead",
            Self::Expired => "expired",
            Self::Cancelled => "cancelled",
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[derive(Debug, Error, PartialEq, Eq)]
#[error("`{0}` is not an outcome: use delivered, dead, expired or cancelled")]
pub struct BadEnding(String);

impl FromStr for Ending {
    type Err = BadEnding;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|ending| ending.as_str() == text)
            .ok_or_else(|| BadEnding(text.chars().take(48).collect()))
    }
}

/// The record of an ended job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    pub result: Ending,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The upstream's last status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    pub attempts: u32,
    /// The caller that submitted the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// The upstream's last answer, as far as the bucket keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerBody>,
}

impl Outcome {
    /// Returns the compact line `ending status attempts caller`, if possible; otherwise JSON, as for an outcome with a
    /// reason, an answer, or without a status.
    #[must_use]
    pub fn to_record(&self) -> String {
        let is_a_word = |caller: &str| !caller.is_empty() && !caller.contains(char::is_whitespace);
        match self {
            Self { result, reason: None, status: Some(status), attempts, caller, answer: None }
                if caller.as_deref().is_none_or(is_a_word) =>
            {
                let (before, caller) = caller.as_ref().map_or(("", ""), |caller| (" ", caller));
                format!("{result} {status} {attempts}{before}{caller}")
            }
            // Strings and numbers always serialize.
            _ => serde_json::to_string(self).unwrap_or_default(),
        }
    }

    /// Returns `None` if the text isn't a record.
    #[must_use]
    pub fn from_record(record: &str) -> Option<Self> {
        if record.starts_with('{') {
            return serde_json::from_str(record).ok();
        }
        let mut words = record.split(' ');
        Some(Self {
            result: words.next()?.parse().ok()?,
            reason: None,
            status: Some(words.next()?.parse().ok()?),
            attempts: words.next()?.parse().ok()?,
            caller: words.next().map(str::to_owned),
            answer: None,
        })
    }
}

/// The body of an upstream's answer, as text if it is UTF-8.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The `Content-Encoding` of the body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_encoding: Option<String>,
    pub body: String,
    /// Whether the body is base64, because it isn't UTF-8.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub base64: bool,
    /// Whether the answer was longer than the kept part.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

/// Maximum bytes of a content type as a JSON string.
const MAX_CONTENT_TYPE_BYTES: usize = 100;
/// Maximum bytes of a content encoding.
const MAX_ENCODING_BYTES: usize = 32;

impl AnswerBody {
    #[must_use]
    pub fn new(content_type: Option<String>, bytes: &[u8], truncated: bool) -> Self {
        let cut_in_a_character = |error: &std::str::Utf8Error| truncated && error.error_len().is_none();
        let (body, base64) = match std::str::from_utf8(bytes) {
            Ok(text) => (text.to_owned(), false),
            // Truncated within a character: the text up to that character is valid.
            Err(error) if cut_in_a_character(&error) => {
                (String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned(), false)
            }
            Err(_) => (STANDARD.encode(bytes), true),
        };
        Self { content_type: content_type.map(shortened_type), content_encoding: None, body, base64, truncated }
    }

    /// Sets the content encoding, unless it is longer than any in use.
    #[must_use]
    pub fn encoded(self, content_encoding: Option<&str>) -> Self {
        let content_encoding = content_encoding.filter(|text| text.len() <= MAX_ENCODING_BYTES).map(str::to_owned);
        Self { content_encoding, ..self }
    }

    /// Cuts the body to at most this many bytes of JSON.
    pub fn shorten(&mut self, most: usize) {
        // Base64 consists of groups of four characters, none of which JSON escapes.
        let most = if self.base64 { most / 4 * 4 } else { most };
        self.truncated |= shorten(&mut self.body, most);
    }

    /// Returns the bytes of all fields, before JSON escapes them.
    #[must_use]
    pub fn size(&self) -> usize {
        let headers = [&self.content_type, &self.content_encoding].into_iter().flatten();
        self.body.len() + headers.map(String::len).sum::<usize>()
    }

    /// Returns the bytes of the upstream's answer, up to where it was truncated.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        if self.base64 { STANDARD.decode(&self.body).unwrap_or_default() } else { self.body.clone().into_bytes() }
    }
}

/// Shortens a content type, first by all of its parameters, as a part of one would be misleading.
fn shortened_type(mut content_type: String) -> String {
    let media_type = content_type.find(';').unwrap_or(content_type.len());
    if shorten(&mut content_type, MAX_CONTENT_TYPE_BYTES) {
        content_type.truncate(media_type.min(content_type.len()));
        content_type.shrink_to_fit();
    }
    content_type
}

/// Shortens a text to at most this many bytes as a JSON string. Returns whether it was longer.
pub(crate) fn shorten(text: &mut String, most: usize) -> bool {
    let before = text.len();
    text.truncate(text.floor_char_boundary(most));
    if json_bytes(text) > most {
        let kept = fitting(text, most).len();
        text.truncate(kept);
    }
    text.len() < before
}

/// The longest beginning of a text that has at most this many bytes as a JSON string.
fn fitting(text: &str, most: usize) -> &str {
    let beginning = |bytes: usize| &text[..text.floor_char_boundary(bytes)];
    let (mut fits, mut is_longer) = (0, text.len() + 1);
    while is_longer - fits > 1 {
        let middle = usize::midpoint(fits, is_longer);
        let bound = if json_bytes(beginning(middle)) > most { &mut is_longer } else { &mut fits };
        *bound = middle;
    }
    beginning(fits)
}

/// The bytes of a text as a JSON string, without its quotes.
fn json_bytes(text: &str) -> usize {
    serde_json::to_string(text).map_or(0, |json| json.len() - 2)
}

#[cfg(test)]
mod tests;
