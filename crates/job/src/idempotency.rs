//! The idempotency key: a caller's name for a job, which makes repeated submissions one job.

use std::fmt;

use thiserror::Error;

const LONGEST: usize = 255;

/// Regular expression of a key; the length in bytes is also limited.
pub const PATTERN: &str = concat!(
    r#"^("[^\x00-\x1f\x7f-\x9f]{1,255}""#,
    r#"|[^\x00-\x1f\x7f-\x9f"][^\x00-\x1f\x7f-\x9f]{0,254}"#,
    r#"|"[^\x00-\x1f\x7f-\x9f]{0,253}[^\x00-\x1f\x7f-\x9f"]|")$"#,
);

/// 1 to 255 visible characters or spaces.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct IdempotencyKey(String);

#[derive(Debug, Error, PartialEq, Eq)]
pub enum BadIdempotencyKey {
    #[error("the idempotency key is empty: omit it, or give a key")]
    Empty,
    #[error("the idempotency key has {0} bytes: use at most {LONGEST}")]
    TooLong(usize),
    #[error("the idempotency key has a control character: use printable text")]
    Control,
}

impl IdempotencyKey {
    /// Parses a caller's input.
    ///
    /// # Errors
    /// For a key that is empty, too long, or has control characters.
    pub fn parse(text: &str) -> Result<Self, BadIdempotencyKey> {
        // In the IETF draft the key is a quoted string, but many callers send it without quotes. Both are the same key.
        let bare = text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).unwrap_or(text);
        if bare.is_empty() {
            return Err(BadIdempotencyKey::Empty);
        }
        if bare.len() > LONGEST {
            return Err(BadIdempotencyKey::TooLong(bare.len()));
        }
        if bare.chars().any(char::is_control) {
            return Err(BadIdempotencyKey::Control);
        }
        Ok(Self(bare.to_owned()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for IdempotencyKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_and_bare_keys_name_the_same_job() {
        assert_eq!(IdempotencyKey::parse("\"a-1\""), IdempotencyKey::parse("a-1"));
    }

    #[test]
    fn empty_long_and_unprintable_keys_are_refused() {
        assert_eq!(IdempotencyKey::parse(""), Err(BadIdempotencyKey::Empty));
        assert_eq!(IdempotencyKey::parse("\"\""), Err(BadIdempotencyKey::Empty));
        assert_eq!(IdempotencyKey::parse(&"k".repeat(256)), Err(BadIdempotencyKey::TooLong(256)));
        assert_eq!(IdempotencyKey::parse("a\u{7}"), Err(BadIdempotencyKey::Control));
        assert!(IdempotencyKey::parse(&"k".repeat(255)).is_ok());
    }
}
