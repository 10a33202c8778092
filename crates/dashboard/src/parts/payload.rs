//! A body as text, as JSON, or as bytes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};
use serde_json::Value;

/// More is cut: it can be had from the API.
const SHOWN_BYTES: usize = 64 * 1024;
const BYTES_IN_LINE: usize = 16;

/// `text` as the API returns it: base64 when it isn't UTF-8.
pub(crate) fn of(text: Option<&str>, is_base64: bool, content_type: Option<&str>, truncated: bool) -> Markup {
    let Some(text) = text else { return html! { p.faint { "none was kept" } } };
    let bytes = if is_base64 { STANDARD.decode(text).unwrap_or_default() } else { text.as_bytes().to_vec() };
    let shown = &bytes[..bytes.len().min(SHOWN_BYTES)];
    html! {
        p.faint {
            (content_type.unwrap_or("no content type")) ", " (bytes.len()) " bytes"
            @if truncated { ", cut when it was kept" }
            @if shown.len() < bytes.len() { "; the beginning is shown" }
        }
        @if bytes.is_empty() { p.faint { "empty" } }
        @else if is_base64 { pre.payload tabindex="0" { (hex(shown)) } }
        @else { pre.payload tabindex="0" { (pretty(shown)) } }
        @if !is_base64 && !bytes.is_empty() {
            details { summary { "As bytes" } pre.payload tabindex="0" { (hex(&shown[..shown.len().min(4096)])) } }
        }
    }
}

/// For keys without the scope `inspect`.
pub(crate) fn hidden() -> Markup {
    html! { p.faint { "Your key doesn't show payloads and answers: that takes the scope " code { "inspect" } "." } }
}

/// JSON with line breaks; other text unchanged.
fn pretty(bytes: &[u8]) -> String {
    let json = serde_json::from_slice::<Value>(bytes).ok().filter(|json| json.is_object() || json.is_array());
    let pretty = json.and_then(|json| serde_json::to_string_pretty(&json).ok());
    pretty.unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned())
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
