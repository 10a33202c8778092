//! Masks members of JSON payloads and answers, fields of form bodies, and headers, in the dashboard and in exports, for
//! every key.

mod form;
mod masked;
mod pointer;

use http::HeaderName;
use serde_json::Value;

use self::form::masked_form;
use self::masked::masked;
use self::pointer::unescaped;
use crate::unique_members::UniqueMembers;

/// Replaces masked values.
pub const MASK: &str = "redacted";

/// The fields that are masked.
#[derive(Clone, Debug, Default)]
pub struct Redaction {
    /// As RFC 6901 writes them.
    pointers: Vec<String>,
    headers: Vec<HeaderName>,
}

/// A text as it may be shown.
#[derive(Debug, PartialEq, Eq)]
pub enum Shown {
    /// Nothing in it is masked.
    Whole,
    Masked(String),
    /// It may contain values to mask, and can't be parsed, or not in one way alone.
    Hidden,
}

impl Redaction {
    /// JSON pointers, such as `/card/number`, and names of headers. None: one of them is neither.
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
    pub fn of_text(&self, text: &str) -> Shown {
        if self.pointers.is_empty() {
            return Shown::Whole;
        }
        match self.of_json(text) {
            Shown::Whole => match masked_form(text, |name, value| self.masks_field(name, value), MASK) {
                Some(masked) => Shown::Masked(masked),
                None if self.may_name_member(text) => Shown::Hidden,
                None => Shown::Whole,
            },
            masked => masked,
        }
    }

    /// Whether a text that is neither JSON nor a form has the name of such a member: XML, a form of several parts, or a
    /// message that repeats what was sent.
    fn may_name_member(&self, text: &str) -> bool {
        if is_json(text) || is_form(text) {
            return false;
        }
        let text = text.to_lowercase();
        // Places in lists are no names.
        let is_name = |token: &&str| !token.is_empty() && !token.bytes().all(|c| c.is_ascii_digit());
        let name = |pointer: &String| pointer.rsplit('/').find(is_name).map(|token| unescaped(token).to_lowercase());
        self.pointers.iter().filter_map(name).any(|name| text.contains(&name))
    }

    fn of_json(&self, text: &str) -> Shown {
        if is_json(text) {
            return masked(text, &self.pointers, MASK).map_or(Shown::Whole, Shown::Masked);
        }
        if may_contain_json(text) { Shown::Hidden } else { Shown::Whole }
    }

    /// Of a form body, decoded. A field `card[number]` is one of `card`; its value may be JSON.
    fn masks_field(&self, name: &str, value: &str) -> bool {
        let (first, is_within) = name.split_once('[').map_or((name, false), |(first, _)| (first, true));
        let is_named = |pointer: &String| match pointer[1..].split_once('/') {
            None => unescaped(&pointer[1..]) == first,
            Some((token, _)) => is_within && unescaped(token) == first,
        };
        self.pointers.iter().any(is_named) || self.of_json(value) != Shown::Whole
    }

    /// What is no text can't be parsed, and may be such a JSON text in another encoding, or compressed.
    #[must_use]
    pub const fn of_bytes(&self) -> Shown {
        if self.pointers.is_empty() { Shown::Whole } else { Shown::Hidden }
    }

    /// A dead letter or a job of the API.
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

    /// Bytes are in `body_base64` of a letter, and in `body` of an answer that has `base64`.
    fn mask_body_of(&self, item: &mut Value) {
        let Some(item) = item.as_object_mut() else { return };
        let is_bytes = ["body_base64", "base64"].iter().filter_map(|name| item.get(*name)).any(is_given);
        let text = item.get("body").and_then(Value::as_str);
        let shown = if is_bytes { self.of_bytes() } else { text.map_or(Shown::Whole, |text| self.of_text(text)) };
        let masked = match shown {
            Shown::Whole => return,
            Shown::Masked(text) => text,
            Shown::Hidden => MASK.to_owned(),
        };
        item.insert("body".to_owned(), masked.into());
        if is_bytes {
            item.entry("body_base64").and_modify(|bytes| *bytes = Value::Null);
            item.entry("base64").and_modify(|is_base64| *is_base64 = false.into());
        }
    }
}

/// An object or an array. Of members of one name a reader takes one or another: which of them it would be, nobody can
/// say.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<UniqueMembers>(text).is_ok()
}

/// All else is encoded in a form.
fn is_form(text: &str) -> bool {
    !text.trim().contains(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '<' | '>' | '"'))
}

/// Whether an object or an array may be in a text that is neither: lines or events of JSON, the beginning of it, JSON
/// behind a prefix against its inclusion as a script, in UTF-16, or in a string.
fn may_contain_json(text: &str) -> bool {
    let in_string = || serde_json::from_str::<String>(text).is_ok_and(|inner| may_contain_json(&inner));
    text.contains(['\0', '{', '[']) || in_string()
}

fn is_given(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

#[cfg(test)]
mod tests;
