//! The path of a job below its bucket's upstream. A caller chooses the path, never the host.

use std::fmt;

use percent_encoding::{percent_decode, percent_decode_str};
use thiserror::Error;

const LONGEST: usize = 8 * 1024;

/// A path with an optional query. It begins with `/` or `?`, and can't leave the upstream that it is appended to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamPath(String);

#[derive(Debug, Error, PartialEq, Eq)]
pub enum BadPath {
    #[error("the path has {0} bytes: use at most {LONGEST}")]
    TooLong(usize),
    #[error("the path has a character that is not allowed in a URL: percent-encode it")]
    BadCharacter,
    #[error("the path has a control character, which isn't allowed, percent-encoded or not: remove it")]
    ControlCharacter,
    #[error("the path has an invalid percent-encoding: write % and two hexadecimal digits")]
    BadEscape,
    #[error("the path leaves the bucket's upstream: remove the segments `.` and `..`, also those with `;` parameters")]
    Climbs,
    #[error("the path could name another host: remove `//`, `\\`, and `@` from its first segment")]
    NamesHost,
}

impl UpstreamPath {
    /// Parses a caller's path, such as `/a/b?c=d` or `a/b`.
    ///
    /// # Errors
    /// For a path that could leave the upstream, or that is invalid.
    pub fn parse(text: &str) -> Result<Self, BadPath> {
        if text.len() > LONGEST {
            return Err(BadPath::TooLong(text.len()));
        }
        let (path, query) = text.split_once('?').unwrap_or((text, ""));
        if text.bytes().any(|c| c.is_ascii_control()) {
            return Err(BadPath::ControlCharacter);
        }
        if !query.bytes().all(is_of_query) || !path.bytes().all(is_of_path) {
            return Err(BadPath::BadCharacter);
        }
        // Checked as upstreams decode it: an escaped dot is a dot.
        let decoded = decode(path)?;
        if decoded.iter().any(u8::is_ascii_control) {
            return Err(BadPath::ControlCharacter);
        }
        if path.contains("//")
            || first_segment(path).contains('@')
            || decoded.contains(&b'\\')
            || decoded.windows(2).any(|pair| pair == b"//")
        {
            return Err(BadPath::NamesHost);
        }
        if climbs(decoded) {
            return Err(BadPath::Climbs);
        }
        let slash = if path.is_empty() || path.starts_with('/') { "" } else { "/" };
        Ok(Self(format!("{slash}{text}")))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UpstreamPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Allows all characters that browsers send unescaped in a query. They are forwarded unchanged.
const fn is_of_query(c: u8) -> bool {
    c.is_ascii_graphic() && !matches!(c, b'"' | b'<' | b'>' | b'#')
}

const fn is_of_path(c: u8) -> bool {
    is_of_query(c) && !matches!(c, b'`' | b'{' | b'}' | b'|' | b'^')
}

/// An `@` in this segment could make an upstream URL with a user and another host.
fn first_segment(path: &str) -> &str {
    path.trim_start_matches('/').split('/').next().unwrap_or_default()
}

/// How often a path is decoded, since each proxy before an upstream may decode it once.
const MAX_DECODINGS: usize = 4;

/// Returns whether a segment of a path is `.` or `..`, even percent-encoded: servers resolve these differently. Query
/// and fragment are ignored.
#[must_use]
pub fn has_dot_segments(path: &str) -> bool {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    climbs(percent_decode_str(path).collect())
}

/// Whether any upstream may read a segment as `.` or `..`: Java servers ignore what follows a `;`, and some servers
/// decode repeatedly.
fn climbs(mut decoded: Vec<u8>) -> bool {
    for _ in 0..MAX_DECODINGS {
        let mut segments = decoded.split(|c| matches!(c, b'/' | b'\\'));
        let name =
            |segment: &[u8]| segment.split(|c| *c == b';').next().is_some_and(|name| matches!(name, b"." | b".."));
        if segments.any(name) {
            return true;
        }
        let again: Vec<u8> = percent_decode(&decoded).collect();
        if again == decoded {
            return false;
        }
        decoded = again;
    }
    // Only an attack is still encoded by then.
    true
}

fn decode(text: &str) -> Result<Vec<u8>, BadPath> {
    let mut rest = text.as_bytes();
    while let Some(at) = rest.iter().position(|c| *c == b'%') {
        match rest[at + 1..] {
            [high, low, ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => rest = &rest[at + 3..],
            _ => return Err(BadPath::BadEscape),
        }
    }
    Ok(percent_decode_str(text).collect())
}

#[cfg(test)]
mod tests;
