//! Versions as entity tags, for conditional changes.

use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::problem::{Code, Problem};

/// `If-Match`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum IfMatch {
    /// It isn't there.
    Missing,
    /// `*`: any that is there.
    Any,
    Versions(Vec<u64>),
}

impl IfMatch {
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let mut versions = Vec::new();
        for value in headers.get_all(header::IF_MATCH) {
            let text = value.to_str().map_err(|_| bad())?;
            if text.trim() == "*" {
                return Ok(Self::Any);
            }
            // A tag of another form was never given out, so it matches nothing.
            versions.extend(text.split(',').map(|tag| tag.trim().trim_matches('"').parse().unwrap_or(0)));
        }
        Ok(if versions.is_empty() { Self::Missing } else { Self::Versions(versions) })
    }

    /// `version`: of what is there.
    pub(crate) fn allows(&self, version: Option<u64>) -> bool {
        match (self, version) {
            (Self::Missing, _) | (Self::Any, Some(_)) => true,
            (Self::Versions(versions), Some(version)) => versions.contains(&version),
            (_, None) => false,
        }
    }
}

pub(crate) fn e_tag(version: u64) -> (HeaderName, HeaderValue) {
    let tag = HeaderValue::try_from(format!("\"{version}\""));
    (header::ETAG, tag.unwrap_or(HeaderValue::from_static("\"\"")))
}

fn bad() -> Problem {
    Problem::new(Code::DefinitionChanged, "invalid If-Match: send the ETag of the resource")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn a_change_is_made_only_to_the_version_that_is_named() {
        let allows = |value: &'static str, version| {
            let headers = HeaderMap::from_iter([(header::IF_MATCH, HeaderValue::from_static(value))]);
            IfMatch::of(&headers).unwrap().allows(version)
        };
        for (value, is_there, is_not) in [
            ("\"17\"", true, false),
            ("\"16\", \"17\"", true, false),
            ("*", true, false),
            ("\"16\"", false, false),
            ("W/\"17\"", false, false),
            ("", false, false),
        ] {
            assert_eq!((allows(value, Some(17)), allows(value, None)), (is_there, is_not), "{value}");
        }
        assert!(IfMatch::of(&HeaderMap::new()).unwrap().allows(None));
    }
}
