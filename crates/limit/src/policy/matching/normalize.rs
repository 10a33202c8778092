//! Normalizes paths: percent-encoding, and empty segments.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, percent_encode};

/// The characters that are percent-encoded in a normalized path, as most clients do.
const ENCODED: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'/')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// Normalizes a path, so that paths that are equal for templates become equal.
pub(crate) fn normalized(path: &str) -> String {
    let segment = |segment| {
        let decoded: Vec<u8> = percent_decode_str(segment).collect();
        format!("/{}", percent_encode(&decoded, ENCODED))
    };
    let normalized: String = segments(path).map(segment).collect();
    if normalized.is_empty() { "/".to_owned() } else { normalized }
}

/// The segments of a path, without empty ones.
pub(super) fn segments(path: &str) -> impl Iterator<Item = &str> {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    path.split('/').filter(|segment| !segment.is_empty())
}

/// Decodes a segment; one that isn't UTF-8 stays encoded.
pub(super) fn decode(segment: &str) -> String {
    percent_decode_str(segment).decode_utf8().map_or_else(|_| segment.to_owned(), Into::into)
}
