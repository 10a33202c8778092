//! Masks members of JSON payloads and answers, fields of form bodies, and headers in the dashboard and in exports,
//! regardless of the API key.

mod form;
mod masked;
mod outcome_job;
mod pointer;

use http::HeaderName;
use serde_json::Value;

use self::masked::masked;
use self::outcome_job::{ANSWER, answer_in};
use self::pointer::unescaped;
use crate::unique_members::UniqueMembers;

/// Replaces masked values.
pub const MASK: &str = "redacted";

/// The fields that are masked.
#[derive(Clone, Debug, Default)]
pub struct Redaction {
    /// JSON pointers (RFC 6901).
    pointers: Vec<String>,
    headers: Vec<HeaderName>,
}

/// How a text may be shown.
#[derive(Debug, PartialEq, Eq)]
pub enum RedactedText {
    /// Unchanged: nothing in it is masked.
    Whole,
    Masked(String),
    /// Not at all: it may contain values to mask, but can't be parsed unambiguously.
    Hidden,
}

impl Redaction {
    /// Parses `fields`: JSON pointers, such as `/card/number`, and names of headers. Returns `None` if one of them is
    /// neither.
    #[must_use]
    pub fn new(fields: &[String]) -> Option<Self> {
        let mut redaction = Self::default();
        for field in fields {
            if field.starts_with('/') {
                redaction.pointers.push(field.clone());
            } else {
                redaction.headers.push(field.parse().ok()?);
            }
        }
        Some(redaction)
    }

    #[must_use]
    pub fn masks_header(&self, name: &str) -> bool {
        self.headers.iter().any(|header| header.as_str().eq_ignore_ascii_case(name))
    }

    #[must_use]
    pub fn redact_text(&self, text: &str) -> RedactedText {
        if self.pointers.is_empty() {
            return RedactedText::Whole;
        }
        if is_json(text) {
            return self.redact_document(text);
        }
        if may_contain_json(text) {
            return RedactedText::Hidden;
        }
        match self.redact_form(text) {
            Some(masked) => RedactedText::Masked(masked),
            None if self.may_name_member(text) => RedactedText::Hidden,
            None => RedactedText::Whole,
        }
    }

    /// Whether a text that is neither JSON nor a form contains the name of a masked member: it may be XML, a multipart
    /// form, or a message that repeats what was sent.
    fn may_name_member(&self, text: &str) -> bool {
        if is_form(text) {
            return false;
        }
        let text = text.to_lowercase();
        // Indices of lists aren't names.
        let is_name = |token: &&str| !token.is_empty() && !token.bytes().all(|c| c.is_ascii_digit());
        let name = |pointer: &String| pointer.rsplit('/').find(is_name).map(|token| unescaped(token).to_lowercase());
        self.pointers.iter().filter_map(name).any(|name| text.contains(&name))
    }

    /// A text that may be part of another one.
    fn redact_json(&self, text: &str) -> RedactedText {
        if is_json(text) {
            return self.redact_document(text);
        }
        if may_contain_json(text) { RedactedText::Hidden } else { RedactedText::Whole }
    }

    /// `json` is an object or an array.
    fn redact_document(&self, json: &str) -> RedactedText {
        let answer = self.hides_answer(json).then_some(ANSWER);
        let pointers = self.pointers.iter().map(String::as_str).chain(answer);
        masked(json, pointers, MASK).map_or(RedactedText::Whole, RedactedText::Masked)
    }

    /// Whether the JSON is the body of an outcome job with an answer that isn't shown whole.
    fn hides_answer(&self, json: &str) -> bool {
        let shown = |answer: outcome_job::Answer<'_>| {
            if answer.base64 { self.redact_bytes() } else { self.redact_text(&answer.body) }
        };
        answer_in(json).is_some_and(|answer| shown(answer) != RedactedText::Whole)
    }

    /// Bytes that aren't UTF-8 can't be parsed, and may be JSON in another encoding, or compressed.
    #[must_use]
    pub const fn redact_bytes(&self) -> RedactedText {
        if self.pointers.is_empty() { RedactedText::Whole } else { RedactedText::Hidden }
    }

    /// Masks a dead letter or a job, as the API returns it.
    pub fn mask_item(&self, item: &mut Value) {
        self.mask_body_of(item);
        if let Some(outcome) = item.get_mut("outcome") {
            self.mask_body_of(outcome);
        }
        for failed in item.get_mut("failed_attempts").and_then(Value::as_array_mut).into_iter().flatten() {
            self.mask_body_of(failed);
        }
        let headers = item.get_mut("headers").and_then(Value::as_array_mut);
        for header in headers.into_iter().flatten() {
            if header["name"].as_str().is_some_and(|name| self.masks_header(name)) {
                header["value"] = MASK.into();
            }
        }
    }

    /// Bytes are in `body_base64` of a letter, and in `body` of an answer if `base64` is true.
    fn mask_body_of(&self, item: &mut Value) {
        let Some(item) = item.as_object_mut() else { return };
        let is_bytes = ["body_base64", "base64"].iter().filter_map(|name| item.get(*name)).any(is_given);
        let text = item.get("body").and_then(Value::as_str);
        let shown = if is_bytes {
            self.redact_bytes()
        } else {
            text.map_or(RedactedText::Whole, |text| self.redact_text(text))
        };
        let masked = match shown {
            RedactedText::Whole => return,
            RedactedText::Masked(text) => text,
            RedactedText::Hidden => MASK.to_owned(),
        };
        item.insert("body".to_owned(), masked.into());
        if is_bytes {
            item.entry("body_base64").and_modify(|bytes| *bytes = Value::Null);
            item.entry("base64").and_modify(|is_base64| *is_base64 = false.into());
        }
    }
}

/// Whether the text is an object or an array without duplicate members: which of these a reader uses isn't known.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<UniqueMembers>(text).is_ok()
}

/// A form encodes all of these characters.
fn is_form(text: &str) -> bool {
    !text.trim().contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '"'))
}

/// Whether a text that isn't JSON may contain an object or an array: lines or events of JSON, truncated JSON, JSON
/// after a prefix that prevents its inclusion as a script, JSON in UTF-16, or in a string.
fn may_contain_json(text: &str) -> bool {
    let in_string = || serde_json::from_str::<String>(text).is_ok_and(|inner| may_contain_json(&inner));
    text.contains(['\0', '{', '[']) || in_string()
}

fn is_given(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

#[cfg(test)]
mod tests;
