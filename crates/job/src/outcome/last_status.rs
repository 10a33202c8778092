//! The last upstream status, as a filter of jobs that have ended.

use std::fmt;
use std::str::FromStr;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

const NO_ANSWER: &str = "none";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastStatus {
    Code(u16),
    /// No answer came, or no call was made.
    NoAnswer,
}

#[derive(Debug, Error, PartialEq, Eq)]
#[error("use 100 to 999, or none")]
pub struct BadLastStatus;

impl LastStatus {
    fn of(code: u64) -> Result<Self, BadLastStatus> {
        let code = u16::try_from(code).ok().filter(|code| (100..1000).contains(code));
        code.map(Self::Code).ok_or(BadLastStatus)
    }

    /// Returns the status as text: `status 410`, or `no answer`.
    #[must_use]
    pub fn described(self) -> String {
        match self {
            Self::Code(code) => format!("status {code}"),
            Self::NoAnswer => "no answer".to_owned(),
        }
    }
}

impl FromStr for LastStatus {
    type Err = BadLastStatus;

    fn from_str(text: &str) -> Result<Self, BadLastStatus> {
        if text == NO_ANSWER {
            return Ok(Self::NoAnswer);
        }
        text.parse().map_err(|_| BadLastStatus).and_then(Self::of)
    }
}

impl fmt::Display for LastStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => code.fmt(f),
            Self::NoAnswer => f.write_str(NO_ANSWER),
        }
    }
}

/// A number, or `"none"`.
impl Serialize for LastStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Code(code) => serializer.serialize_u16(*code),
            Self::NoAnswer => serializer.serialize_str(NO_ANSWER),
        }
    }
}

impl<'de> Deserialize<'de> for LastStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberOrNone)
    }
}

struct NumberOrNone;

impl Visitor<'_> for NumberOrNone {
    type Value = LastStatus;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a status from 100 to 999, or \"none\"")
    }

    fn visit_u64<E: Error>(self, code: u64) -> Result<LastStatus, E> {
        LastStatus::of(code).map_err(|_| E::invalid_value(Unexpected::Unsigned(code), &self))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<LastStatus, E> {
        if text == NO_ANSWER { Ok(LastStatus::NoAnswer) } else { Err(E::invalid_value(Unexpected::Str(text), &self)) }
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[test]
    fn a_status_is_a_code_or_none_as_text_and_as_json() {
        for (text, json, status) in [
            ("100", "100", LastStatus::Code(100)),
            ("999", "999", LastStatus::Code(999)),
            ("none", "\"none\"", LastStatus::NoAnswer),
        ] {
            assert_eq!((text.parse(), status.to_string().as_str()), (Ok(status), text));
            assert_eq!(serde_json::to_string(&status).unwrap(), json);
            assert_eq!(serde_json::from_str::<LastStatus>(json).unwrap(), status);
        }
        for text in ["", "99", "1000", "-1", "None", "any", "99999999999999999999"] {
            assert_eq!(text.parse::<LastStatus>(), Err(BadLastStatus), "{text}");
        }
        for json in ["99", "1000", "-1", "404.5", "\"404\"", "null", "true", "[404]"] {
            assert!(serde_json::from_str::<LastStatus>(json).is_err(), "{json}");
        }
    }
}
