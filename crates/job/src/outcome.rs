//! How a job ended: once, for good.

pub mod answer;
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
#[error("`{0}` is no outcome: use delivered, dead, expired or cancelled")]
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

/// What is recorded of an ended job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    pub result: Ending,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The upstream's last status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    pub attempts: u32,
    /// Who had submitted the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// The upstream's last answer, cut to what the bucket keeps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerBody>,
}

/// The body of an upstream's answer, as text where it is text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerBody {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    pub body: String,
    /// The body is base64, because it is no UTF-8.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub base64: bool,
    /// More came than is kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

impl AnswerBody {
    #[must_use]
    pub fn new(content_type: Option<String>, bytes: &[u8], truncated: bool) -> Self {
        let cut_in_a_character = |error: &std::str::Utf8Error| truncated && error.error_len().is_none();
        let (body, base64) = match std::str::from_utf8(bytes) {
            Ok(text) => (text.to_owned(), false),
            // A cut in the middle of a character leaves text that is whole up to there.
            Err(error) if cut_in_a_character(&error) => {
                (String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned(), false)
            }
            Err(_) => (STANDARD.encode(bytes), true),
        };
        Self { content_type, body, base64, truncated }
    }

    /// The bytes as the upstream sent them, as far as they were kept.
    #[must_use]
    pub fn bytes(&self) -> Vec<u8> {
        if self.base64 { STANDARD.decode(&self.body).unwrap_or_default() } else { self.body.clone().into_bytes() }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn answers_keep_their_bytes() {
        for bytes in [b"plain".as_slice(), b"", b"\xff\x00\xfe", "täglich".as_bytes()] {
            assert_eq!(AnswerBody::new(None, bytes, false).bytes(), bytes);
        }
    }

    #[test]
    fn a_cut_in_the_middle_of_a_character_stays_text() {
        let cut = AnswerBody::new(None, &"tä".as_bytes()[..2], true);
        assert_eq!((cut.body.as_str(), cut.base64), ("t", false));
    }

    #[test]
    fn a_record_is_small_and_reads_back() {
        let outcome = Outcome {
            result: Ending::Delivered,
            reason: None,
            status: Some(204),
            attempts: 1,
            caller: None,
            answer: None,
        };
        let record = serde_json::to_string(&outcome).unwrap();
        assert_eq!(record, r#"{"result":"delivered","status":204,"attempts":1}"#);
        assert_eq!(serde_json::from_str::<Outcome>(&record).unwrap(), outcome);
    }
}
