//! Replaces values and fields of a form body (`application/x-www-form-urlencoded`) in place.

use percent_encoding::percent_decode_str;

use super::pointer::unescaped;
use super::{MASK, RedactedText, Redaction};

impl Redaction {
    /// Returns `None` if no field is masked.
    pub(super) fn redact_form(&self, text: &str) -> Option<String> {
        let masked: Vec<Option<String>> = text.split('&').map(|field| self.redact_field(field)).collect();
        let is_masked = masked.iter().any(Option::is_some);
        let fields = text.split('&').zip(masked).map(|(field, masked)| masked.unwrap_or_else(|| field.to_owned()));
        is_masked.then(|| fields.collect::<Vec<_>>().join("&"))
    }

    /// Returns `None` if the field isn't masked.
    fn redact_field(&self, field: &str) -> Option<String> {
        let (name, value) = field.split_once('=').map_or((field, None), |(name, value)| (name, Some(decoded(value))));
        let in_clear = decoded(name);
        if self.hides_name(&in_clear) {
            return Some(MASK.to_owned());
        }
        value.is_some_and(|value| self.masks_field(&in_clear, &value)).then(|| format!("{name}={MASK}"))
    }

    /// Whether a decoded name of a form body is JSON with masked members, as in `curl --data-urlencode '{"card":1}'`.
    /// In a name, `[` may stand for a nested field.
    fn hides_name(&self, name: &str) -> bool {
        let may_be_json = name.contains(['\0', '{']) || name.trim_start().starts_with(['[', '"']);
        may_be_json && self.redact_json(name) != RedactedText::Whole
    }

    /// Whether a decoded field of a form body is masked. A field `card[number]` belongs to `card`. A value may be JSON.
    fn masks_field(&self, name: &str, value: &str) -> bool {
        let (first, is_within) = name.split_once('[').map_or((name, false), |(first, _)| (first, true));
        let is_named = |pointer: &String| match pointer[1..].split_once('/') {
            None => unescaped(&pointer[1..]) == first,
            Some((token, _)) => is_within && unescaped(token) == first,
        };
        self.pointers.iter().any(is_named) || self.redact_json(value) != RedactedText::Whole
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}
