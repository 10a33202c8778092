//! Replaces values in a JSON text. Everything else stays as sent, including digits and order.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::value::RawValue;

use super::pointer::unescaped;

/// `json` must be valid, with unique members, and `mask` without escapes. Returns `None` if no value is masked.
pub(super) fn masked<'p>(json: &str, pointers: impl Iterator<Item = &'p str>, mask: &str) -> Option<String> {
    let mut spans: Vec<Range<usize>> = pointers.filter_map(|pointer| span(json, pointer)).collect();
    if spans.is_empty() {
        return None;
    }
    // Of nested values the outer one comes first, so the inner one is skipped.
    spans.sort_by_key(|span| (span.start, usize::MAX - span.end));
    let (mut text, mut end) = (String::with_capacity(json.len()), 0);
    for span in spans {
        if span.start < end {
            continue;
        }
        text.push_str(&json[end..span.start]);
        text.push('"');
        text.push_str(mask);
        text.push('"');
        end = span.end;
    }
    text.push_str(&json[end..]);
    Some(text)
}

/// The range of the value to which a JSON pointer (RFC 6901) refers.
fn span(json: &str, pointer: &str) -> Option<Range<usize>> {
    let mut value = json;
    for token in pointer.split('/').skip(1) {
        value = child(value, &unescaped(token))?;
    }
    // `value` is a slice of `json`.
    let start = value.as_ptr().addr() - json.as_ptr().addr();
    Some(start..start + value.len())
}

fn child<'j>(json: &'j str, token: &str) -> Option<&'j str> {
    if let Ok(members) = serde_json::from_str::<HashMap<String, &RawValue>>(json) {
        return members.get(token).map(|value| value.get());
    }
    let items = serde_json::from_str::<Vec<&RawValue>>(json).ok()?;
    let is_index = token == "0" || !token.starts_with(['0', '+']);
    items.get(token.parse::<usize>().ok().filter(|_| is_index)?).map(|value| value.get())
}
