//! A body as text, as a JSON tree, or as bytes.

mod indent;
pub(crate) mod request;
mod tree;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};

use dripfeed_job::redaction::{RedactedText, Redaction};

use self::indent::indented;
use crate::parts::numbers;

/// A longer body is cut; the API returns all of it.
const SHOWN_BYTES: usize = 64 * 1024;
const BYTES_IN_LINE: usize = 16;

/// A body as the API returns it.
pub(crate) struct Payload<'a> {
    pub(crate) text: Option<&'a str>,
    /// Whether the text is base64, because the body isn't UTF-8.
    pub(crate) is_base64: bool,
    pub(crate) content_type: Option<&'a str>,
    pub(crate) truncated: bool,
}

pub(crate) fn of(redaction: &Redaction, payload: &Payload<'_>) -> Markup {
    let Some(text) = payload.text else { return html! { p.faint { "none was kept" } } };
    match if payload.is_base64 { redaction.redact_bytes() } else { redaction.redact_text(text) } {
        RedactedText::Whole => whole(text, payload),
        RedactedText::Masked(masked) => html! {
            p.faint { "Some of its fields are redacted." }
            (whole(&masked, payload))
        },
        RedactedText::Hidden => html! {
            p.faint { "Not shown: it may contain fields to redact, and can't be read as one JSON object or array." }
        },
    }
}

fn whole(text: &str, &Payload { is_base64, content_type, truncated, .. }: &Payload<'_>) -> Markup {
    let bytes = if is_base64 { STANDARD.decode(text).unwrap_or_default() } else { text.as_bytes().to_vec() };
    let shown = &bytes[..bytes.len().min(SHOWN_BYTES)];
    html! {
        p.faint {
            (content_type.unwrap_or("no content type")) ", " (numbers::pluralize(bytes.len() as u64, "byte", "bytes"))
            @if truncated { ", cut when it was kept" }
            @if shown.len() < bytes.len() { "; the beginning is shown" }
        }
        @if bytes.is_empty() { p.faint { "empty" } }
        @else if is_base64 { pre.payload tabindex="0" { (hex(shown)) } }
        @else {
            @let text = String::from_utf8_lossy(shown);
            @match tree::parsed(&text) {
                Some(json) => {
                    pre.payload tabindex="0" { (indented(&text)) }
                    details { summary { "As a tree" } (tree::of(&json)) }
                },
                None => pre.payload tabindex="0" { (text) },
            }
        }
        @if !is_base64 && !bytes.is_empty() {
            details { summary { "As bytes" } pre.payload tabindex="0" { (hex(&shown[..shown.len().min(4096)])) } }
        }
    }
}

/// The text for keys without the scope `inspect`.
pub(crate) fn hidden() -> Markup {
    html! { p.faint { "Your key doesn't show payloads and answers: this needs the scope " code { "inspect" } "." } }
}

/// `00000000  7b 22 … |{"n":1}|`
fn hex(bytes: &[u8]) -> String {
    let line = |(number, line): (usize, &[u8])| {
        let digits: String = line.iter().map(|byte| format!("{byte:02x} ")).collect();
        let text: String =
            line.iter().map(|byte| if byte.is_ascii_graphic() { char::from(*byte) } else { '.' }).collect();
        format!("{:08x}  {digits:<48} {text}\n", number * BYTES_IN_LINE)
    };
    bytes.chunks(BYTES_IN_LINE).enumerate().map(line).collect()
}
