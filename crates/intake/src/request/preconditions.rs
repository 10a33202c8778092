//! Preconditions of changes, with versions as entity tags.

use std::fmt::Display;

use http::{HeaderMap, HeaderName, HeaderValue, header};

use crate::problem::{Code, Problem};

/// `If-Match` and `If-None-Match`; `None` for a missing header.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Preconditions {
    if_match: Option<Tags>,
    if_none_match: Option<Tags>,
}

#[derive(Debug, PartialEq, Eq)]
enum Tags {
    /// `*`: any existing resource.
    Any,
    /// Versions without their quotes. Weak tags are dropped, because they mustn't match for a change.
    Versions(Vec<String>),
}

impl Preconditions {
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Problem> {
        let tags = |name: HeaderName| Tags::of(headers, &name).map_err(|()| bad(&name));
        Ok(Self { if_match: tags(header::IF_MATCH)?, if_none_match: tags(header::IF_NONE_MATCH)? })
    }

    /// Whether the request is unconditional.
    pub(crate) const fn is_empty(&self) -> bool {
        self.if_match.is_none() && self.if_none_match.is_none()
    }

    /// `version` is of the existing resource; `what` is `bucket`, `key`, `schedule` or `service`.
    pub(crate) fn check(&self, what: &str, version: Option<impl Display>) -> Result<(), Problem> {
        self.check_part(what, version, |version| version)
    }

    /// As `check`, but only a `part` of each version must match.
    pub(crate) fn check_part(
        &self,
        what: &str,
        version: Option<impl Display>,
        part: fn(&str) -> &str,
    ) -> Result<(), Problem> {
        let version = version.map(|version| version.to_string());
        let matches = |tags: &Tags| version.as_ref().is_some_and(|version| tags.have(version, part));
        let detail = if self.if_none_match.as_ref().is_some_and(matches) {
            format!("the {what} exists; omit If-None-Match to change it")
        } else if self.if_match.as_ref().is_none_or(matches) {
            return Ok(());
        } else {
            match version {
                Some(version) => {
                    format!(
                        "the {what} was changed meanwhile: GET it, change it again, and send If-Match: \"{version}\""
                    )
                }
                None => format!("the {what} doesn't exist; omit If-Match to create it"),
            }
        };
        Err(Problem::new(Code::PreconditionFailed, detail))
    }
}

impl Tags {
    fn of(headers: &HeaderMap, name: &HeaderName) -> Result<Option<Self>, ()> {
        let mut versions = None;
        for value in headers.get_all(name) {
            let text = value.to_str().map_err(drop)?;
            if text.trim() == "*" {
                return Ok(Some(Self::Any));
            }
            let tags = text.split(',').map(|tag| tag.trim().trim_matches('"').to_owned());
            versions.get_or_insert_with(Vec::new).extend(tags);
        }
        Ok(versions.map(Self::Versions))
    }

    fn have(&self, version: &str, part: fn(&str) -> &str) -> bool {
        match self {
            Self::Any => true,
            Self::Versions(versions) => versions.iter().any(|known| part(known) == part(version)),
        }
    }
}

pub(crate) fn e_tag(version: impl Display) -> (HeaderName, HeaderValue) {
    let tag = HeaderValue::try_from(format!("\"{version}\""));
    (header::ETAG, tag.unwrap_or(HeaderValue::from_static("\"\"")))
}

fn bad(name: &HeaderName) -> Problem {
    let name = if *name == header::IF_MATCH { "If-Match" } else { "If-None-Match" };
    Problem::new(Code::PreconditionFailed, format!("invalid {name}: send the ETag of the resource, or *"))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn allows(name: HeaderName, value: &'static str, version: Option<u64>) -> bool {
        let headers = HeaderMap::from_iter([(name, HeaderValue::from_static(value))]);
        Preconditions::of(&headers).unwrap().check("bucket", version).is_ok()
    }

    #[test]
    fn a_change_is_made_only_to_the_version_that_is_named() {
        for (value, is_there, is_not) in [
            ("\"17\"", true, false),
            ("\"16\", \"17\"", true, false),
            ("*", true, false),
            ("\"16\"", false, false),
            ("W/\"17\"", false, false),
            ("", false, false),
        ] {
            let found = [Some(17), None].map(|version| allows(header::IF_MATCH, value, version));
            assert_eq!(found, [is_there, is_not], "{value}");
        }
        assert!(Preconditions::of(&HeaderMap::new()).unwrap().check("bucket", None::<u64>).is_ok());
    }

    #[test]
    fn no_change_is_made_to_a_version_that_must_not_be_there() {
        for (value, is_there) in [("\"17\"", false), ("*", false), ("\"16\"", true), ("", true)] {
            let found = [Some(17), None].map(|version| allows(header::IF_NONE_MATCH, value, version));
            assert_eq!(found, [is_there, true], "{value}");
        }
    }
}
