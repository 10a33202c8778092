//! Masks members of JSON payloads and answers, and headers, in the dashboard and in exports, for every key.

mod masked;

use http::HeaderName;
use serde_json::Value;

use self::masked::masked;
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
        // Of members of one name a reader takes one or another: which of them it would be, nobody can say.
        let is_json = text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<UniqueMembers>(text).is_ok();
        if is_json {
            return masked(text, &self.pointers, MASK).map_or(Shown::Whole, Shown::Masked);
        }
        if may_contain_json(text) { Shown::Hidden } else { Shown::Whole }
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
        assert_eq!(of(r#"{"items":["a","b"]}"#), Shown::Masked(r#"{"items":["redacted","b"]}"#.to_owned()));
        for whole in [r#"{"number":4111}"#, "card/number=4111", "", "4111", "\"a\""] {
            assert_eq!(of(whole), Shown::Whole, "{whole}");
        }
        // It may have it, and nobody can say where.
        let twice = [r#"{"card":{"number":4111},"card":null}"#, r#"[{"card":{"number":4111,"\u006eumber":1}}]"#];
        for twice in twice {
            assert_eq!(of(twice), Shown::Hidden, "{twice}");
        }
        assert_eq!(Redaction::default().of_text("{"), Shown::Whole);
    }

    #[test]
    fn what_may_contain_json_and_is_none_is_hidden() {
        let json = r#"{"card":{"number":4111}}"#;
        let in_string = serde_json::to_string(json).unwrap();
        for hidden in [
            r#"{"card":{"number":41"#.to_owned(),
            " [1".to_owned(),
            format!("\u{feff}{json}"),
            format!("{json}\n{json}"),
            // A sequence (RFC 7464), an event, and JSON that can't be included as a script.
            format!("\u{1e}{json}\n"),
            format!("data: {json}\n\n"),
            format!(")]}}',\n{json}"),
            // UTF-16BE.
            json.chars().flat_map(|character| ['\0', character]).collect(),
            serde_json::to_string(&in_string).unwrap(),
            in_string.replace('{', "\\u007b"),
            in_string,
        ] {
            assert_eq!(redaction().of_text(&hidden), Shown::Hidden, "{hidden}");
        }
    }

    #[test]
    fn all_else_stays_as_it_was_sent() {
        let fields = ["/card/number", "/card", "/items/1", "/a~1b/c~0d", "/n/0", "/items/01"].map(str::to_owned);
        let of = |text: &str| Redaction::new(&fields).unwrap().of_text(text);
        for (text, masked) in [
            (
                "{ \"z\": 12345678901234567890123, \"items\": [1.10, {\"deep\": [1]}],\n\"a\":1e2}",
                "{ \"z\": 12345678901234567890123, \"items\": [1.10, \"redacted\"],\n\"a\":1e2}",
            ),
            (r#"{"card": {"number": 4111}, "n": {"0": "ü"}}"#, r#"{"card": "redacted", "n": {"0": "redacted"}}"#),
            (
                r#"{"\u0063ard": null,"a\/b": {"c~d": true}}"#,
                r#"{"\u0063ard": "redacted","a\/b": {"c~d": "redacted"}}"#,
            ),
        ] {
            assert_eq!(of(text), Shown::Masked(masked.to_owned()), "{text}");
        }
        assert_eq!(of(r#"[{"card": 1}, "items", 1.10]"#), Shown::Whole);
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
