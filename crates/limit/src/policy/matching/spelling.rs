//! The spellings of a path: percent-encoded or not, with empty segments or without.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, percent_encode};

/// What stands encoded in the one spelling of a path: as most clients write it.
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

/// The one spelling of all paths that are the same to a template.
pub(crate) fn spelled(path: &str) -> String {
    let segment = |segment| {
        let decoded: Vec<u8> = percent_decode_str(segment).collect();
        format!("/{}", percent_encode(&decoded, ENCODED))
    };
    let spelled: String = segments(path).map(segment).collect();
    if spelled.is_empty() { "/".to_owned() } else { spelled }
}

/// The segments of a path, without empty ones.
pub(super) fn segments(path: &str) -> impl Iterator<Item = &str> {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    path.split('/').filter(|segment| !segment.is_empty())
}

/// What isn't UTF-8 stays as it was sent.
pub(super) fn decode(segment: &str) -> String {
    percent_decode_str(segment).decode_utf8().map_or_else(|_| segment.to_owned(), Into::into)
}
