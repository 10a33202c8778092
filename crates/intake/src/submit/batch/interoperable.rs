//! Refuses valid JSON that many parsers can't read: deep nesting, and unpaired surrogates.
//!
//! Splitting a batch doesn't parse numbers or strings, so that numbers of any size are forwarded unchanged.

use memchr::memchr2;

/// The maximum depth of common parsers, including the item itself.
const MAX_DEPTH: usize = 127;

/// Why an item is refused, and where.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NotInteroperable {
    pub(super) reason: &'static str,
    /// In bytes, from 1.
    pub(super) column: usize,
}

/// `text` must be a syntactically valid JSON value.
pub(super) fn check(text: &str) -> Result<(), NotInteroperable> {
    let (bytes, mut at, mut depth) = (text.as_bytes(), 0, 0_usize);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = end_of_string(bytes, at)?,
            b'[' | b'{' if depth == MAX_DEPTH => {
                return Err(NotInteroperable { reason: "nested more than 127 deep", column: at + 1 });
            }
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    Ok(())
}

/// The index of the closing quote of the string that begins at `begin`.
fn end_of_string(bytes: &[u8], begin: usize) -> Result<usize, NotInteroperable> {
    let lone =
        |at| NotInteroperable { reason: "an escaped surrogate without the other half of its pair", column: at + 1 };
    let mut at = begin + 1;
    loop {
        match bytes.get(at) {
            None | Some(b'"') => return Ok(at),
            Some(b'\\') => match escaped(bytes, at) {
                Some(0xD800..=0xDBFF) => match escaped(bytes, at + 6) {
                    Some(0xDC00..=0xDFFF) => at += 12,
                    _ => return Err(lone(at)),
                },
                Some(0xDC00..=0xDFFF) => return Err(lone(at)),
                _ => at += 2,
            },
            // Skips to the next quote or escape.
            Some(_) => at += memchr2(b'"', b'\\', &bytes[at..]).unwrap_or(bytes.len() - at),
        }
    }
}

/// The UTF-16 code unit of the escape `\uXXXX` at this index.
fn escaped(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_and_any_character_is_legible() {
        for text in
            ["1e400", "-12345678901234567890123", r#""\ud83d\ude00""#, r#""\\ud800""#, r#""\"\\""#, "\"é\"", "{}"]
        {
            assert_eq!(check(text), Ok(()), "{text}");
        }
        // Brackets within a string nest nothing.
        assert_eq!(check(&format!("\"{}\"", "[".repeat(200))), Ok(()));
        assert_eq!(check(&"[],".repeat(200)), Ok(()));
    }

    #[test]
    fn half_of_a_pair_is_found_with_its_place() {
        for text in [r#"["\ud800"]"#, r#"["\udc00"]"#, r#"["\ud800\ud800"]"#, r#"["\ud800\n"]"#, r#"["\uD83Dx"]"#] {
            assert_eq!(check(text).map_err(|found| found.column), Err(3), "{text}");
        }
    }

    #[test]
    fn nesting_is_limited() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(check(&nested(MAX_DEPTH)), Ok(()));
        assert_eq!(check(&nested(MAX_DEPTH + 1)).map_err(|found| found.column), Err(MAX_DEPTH + 1));
    }
}
