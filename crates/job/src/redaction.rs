//! Masks members of JSON payloads and answers, and headers, in the dashboard and in exports, for every key.

use http::HeaderName;
use serde_json::Value;

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
        let Ok(mut json) = serde_json::from_str::<Value>(text) else {
            // Lines of JSON, or the beginning of some.
            let looks_like_json = text.trim_start_matches('\u{feff}').trim_start().starts_with(['{', '[']);
            return if looks_like_json { Shown::Hidden } else { Shown::Whole };
        };
        // Of members of one name only the last is masked, and a text that is shown whole has all.
        if serde_json::from_str::<UniqueMembers>(text).is_err() {
            return Shown::Hidden;
        }
        let mut masked = false;
        for pointer in &self.pointers {
            if let Some(value) = json.pointer_mut(pointer) {
                *value = MASK.into();
                masked = true;
            }
        }
        if masked { Shown::Masked(json.to_string()) } else { Shown::Whole }
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

fn is_given(value: &Value) -> bool {
    !matches!(value, Value::Null | Value::Bool(false))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use serde_json::json;

    use super::*;

    fn redaction() -> Redaction {
        Redaction::new(&["/card/number".to_owned(), "/items/0".to_owned(), "X-Api-Key".to_owned()]).unwrap()
    }

    #[test]
    fn what_is_named_is_masked_and_nothing_else() {
        let of = |text: &str| redaction().of_text(text);
        let masked = r#"{"card":{"name":"a","number":"redacted"}}"#;
        assert_eq!(of(r#"{"card": {"name": "a", "number": 4111}}"#), Shown::Masked(masked.to_owned()));
        assert_eq!(of(r#"{"items":["a","b"]}"#), Shown::Masked(r#"{"items":["redacted","b"]}"#.to_owned()));
        for whole in [r#"{"number":4111}"#, "card/number=4111", "", "4111", "\"a\""] {
            assert_eq!(of(whole), Shown::Whole, "{whole}");
        }
        // It may have it, and nobody can say where.
        let twice = [r#"{"card":{"number":4111},"card":null}"#, r#"[{"card":{"number":4111,"\u006eumber":1}}]"#];
        for twice in twice {
            assert_eq!(of(twice), Shown::Hidden, "{twice}");
        }
        for cut in ["{\"card\":{\"number\":41", " [1", "\u{feff}{}", "{\"a\":1}\n{\"b\":2}"] {
            assert_eq!(of(cut), Shown::Hidden, "{cut}");
        }
        assert_eq!(Redaction::default().of_text("{"), Shown::Whole);
    }

    #[test]
    fn an_exported_letter_is_masked_wherever_it_has_such_a_field() {
        let mut letter = json!({
            "id": "1-0", "body": r#"{"card":{"number":1}}"#, "outcome": {"body": "[cut"},
            "headers": [{"name": "x-api-key", "value": "s"}, {"name": "x", "value": "y"}],
            "failed_attempts": [{"body": r#"{"items":[1]}"#}, {"body": null}],
        });
        redaction().mask_item(&mut letter);
        let expected = json!({
            "id": "1-0", "body": r#"{"card":{"number":"redacted"}}"#, "outcome": {"body": "redacted"},
            "headers": [{"name": "x-api-key", "value": "redacted"}, {"name": "x", "value": "y"}],
            "failed_attempts": [{"body": r#"{"items":["redacted"]}"#}, {"body": null}],
        });
        assert_eq!(letter, expected);
    }

    #[test]
    fn bytes_are_hidden_where_members_are_redacted() {
        let letter = json!({
            "body": null, "body_base64": "/w==", "headers": null,
            "outcome": {"body": "/w==", "base64": true}, "failed_attempts": [{"body": "/w==", "base64": true}],
        });
        let mut masked = letter.clone();
        redaction().mask_item(&mut masked);
        let answer = json!({"body": "redacted", "base64": false});
        let expected = json!({
            "body": "redacted", "body_base64": null, "headers": null, "outcome": answer, "failed_attempts": [answer],
        });
        assert_eq!(masked, expected);
        let mut whole = letter.clone();
        Redaction::new(&["X-Api-Key".to_owned()]).unwrap().mask_item(&mut whole);
        assert_eq!(whole, letter, "no member is redacted");
    }

    #[test]
    fn a_field_is_a_pointer_or_the_name_of_a_header() {
        for (field, is_one) in [("/", true), ("/a~1b", true), ("authorization", true), ("a b", false), ("", false)] {
            assert_eq!(Redaction::new(&[field.to_owned()]).is_some(), is_one, "{field}");
        }
    }
}
