//! The version of a definition as an entity tag, by which a caller changes only what it knows.

use std::fmt;

use dripfeed_bucket::Definition;
use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::problem::{Code, Problem};

/// `If-Match`.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum IfMatch {
    /// It isn't there.
    Missing,
    /// `*`: any that is there.
    Any,
    Versions(Vec<u64>),
}

impl IfMatch {
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let mut versions = Vec::new();
        for value in headers.get_all(header::IF_MATCH) {
            let text = value.to_str().map_err(|_| bad())?;
            if text.trim() == "*" {
                return Ok(Self::Any);
            }
            // A tag of another form is of no definition, so it matches none.
            versions.extend(text.split(',').map(|tag| tag.trim().trim_matches('"').parse().unwrap_or(0)));
        }
        Ok(if versions.is_empty() { Self::Missing } else { Self::Versions(versions) })
    }

    pub(super) fn check(&self, definition: Option<&Definition>) -> Result<(), Problem> {
        let holds = match (self, definition) {
            (Self::Missing, _) | (Self::Any, Some(_)) => true,
            (Self::Versions(versions), Some(definition)) => versions.contains(&definition.version),
            (_, None) => false,
        };
        if holds { Ok(()) } else { Err(Problem::new(Code::DefinitionChanged, Changed(definition).to_string())) }
    }
}

struct Changed<'d>(Option<&'d Definition>);

impl fmt::Display for Changed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(definition) => write!(f, "the definition has version \"{}\": GET it again", definition.version),
            None => f.write_str("the bucket isn't defined: leave out If-Match to create it"),
        }
    }
}

pub(super) fn e_tag(definition: &Definition) -> (HeaderName, HeaderValue) {
    let tag = HeaderValue::try_from(format!("\"{}\"", definition.version));
    (header::ETAG, tag.unwrap_or(HeaderValue::from_static("\"\"")))
}

fn bad() -> Problem {
    Problem::new(Code::DefinitionChanged, "If-Match can't be read: send the ETag of a definition")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_is_made_only_to_the_version_that_is_named() {
        let definition = Definition {
            bucket: "b".parse().unwrap(),
            version: 17,
            incarnation: 5,
            by: None,
            definition: json!({}),
            sealed: None,
        };
        let holds = |value: &'static str, definition| {
            let headers = HeaderMap::from_iter([(header::IF_MATCH, HeaderValue::from_static(value))]);
            IfMatch::of(&headers).unwrap().check(definition).is_ok()
        };
        for (value, is_there, is_not) in [
            ("\"17\"", true, false),
            ("\"16\", \"17\"", true, false),
            ("*", true, false),
            ("\"16\"", false, false),
            ("W/\"17\"", false, false),
            ("", false, false),
        ] {
            assert_eq!((holds(value, Some(&definition)), holds(value, None)), (is_there, is_not), "{value}");
        }
        assert!(IfMatch::of(&HeaderMap::new()).unwrap().check(None).is_ok());
    }
}
