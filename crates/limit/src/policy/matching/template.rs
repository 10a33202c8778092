//! A path template.

use std::fmt;

use super::bad_match::{BadMatch, MOST_SEGMENTS};
use super::normalize::{decode, segments};

/// A path with variables: `/v1/organizations/{org}/product/{id}`. `*` matches one segment, and `**` at the end any
/// rest.
///
/// Segments are compared percent-decoded, and empty ones (`//`, a slash at the end) are ignored, so that differently
/// written paths of one endpoint match alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    segments: Vec<Segment>,
    text: String,
}

/// From the least to the most specific. `End` comes after the last segment of a template without `**`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Segment {
    Rest,
    Variable(Option<String>),
    Literal(String),
    End,
}

/// The values of a template's variables in a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Variables(pub(super) Vec<(String, String)>);

impl Variables {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl Template {
    /// Parses a template, such as `/v1/{org}/product/*`.
    ///
    /// # Errors
    /// For text that isn't a template, or has too many parts.
    pub fn parse(text: &str) -> Result<Self, BadMatch> {
        let Some(path) = text.strip_prefix('/') else { return Err(BadMatch::NoSlash(text.to_owned())) };
        let mut segments = Vec::new();
        for segment in path.split('/').filter(|segment| !segment.is_empty()) {
            if segments.len() == MOST_SEGMENTS {
                return Err(BadMatch::ManySegments);
            }
            let parsed = parse_segment(segment).filter(|_| !matches!(segments.last(), Some(Segment::Rest)));
            let parsed =
                parsed.ok_or_else(|| BadMatch::Segment { segment: segment.to_owned(), template: text.to_owned() })?;
            if let Segment::Variable(Some(name)) = &parsed
                && segments.contains(&parsed)
            {
                return Err(BadMatch::Twice { name: name.clone(), template: text.to_owned() });
            }
            segments.push(parsed);
        }
        if segments.last() != Some(&Segment::Rest) {
            segments.push(Segment::End);
        }
        Ok(Self { segments, text: text.to_owned() })
    }

    /// Whether all paths that match are the same endpoint: not if the template ends with `**`.
    pub(crate) fn names_one_endpoint(&self) -> bool {
        self.segments.last() == Some(&Segment::End)
    }

    pub(crate) fn has_variable(&self, name: &str) -> bool {
        self.segments.iter().any(|segment| matches!(segment, Segment::Variable(Some(known)) if known == name))
    }

    pub(super) fn variables(&self, path: &str) -> Option<Variables> {
        let mut path_segments = segments(path).map(decode);
        let mut variables = Vec::new();
        for segment in &self.segments {
            match segment {
                Segment::Rest => return Some(Variables(variables)),
                Segment::End => return path_segments.next().is_none().then_some(Variables(variables)),
                Segment::Literal(literal) if path_segments.next()? == *literal => {}
                Segment::Literal(_) => return None,
                Segment::Variable(name) => {
                    let value = path_segments.next()?;
                    if let Some(name) = name {
                        variables.push((name.clone(), value));
                    }
                }
            }
        }
        None
    }

    pub(super) fn ranks(&self) -> Vec<u8> {
        let rank = |segment: &Segment| match segment {
            Segment::Rest => 1,
            Segment::Variable(_) => 2,
            Segment::Literal(_) => 3,
            Segment::End => 4,
        };
        self.segments.iter().map(rank).collect()
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn parse_segment(text: &str) -> Option<Segment> {
    match text {
        "*" => Some(Segment::Variable(None)),
        "**" => Some(Segment::Rest),
        _ => match text.strip_prefix('{').and_then(|text| text.strip_suffix('}')) {
            Some(name) => {
                let sound = !name.is_empty()
                    && name.bytes().all(|c| c.is_ascii_alphanumeric() || matches!(c, b'_' | b'-' | b'.'));
                sound.then(|| Segment::Variable(Some(name.to_owned())))
            }
            None => {
                let literal = decode(text);
                // Requests with dot segments are refused or resolved before, so this template would match none.
                let is_relative = matches!(literal.as_str(), "." | "..");
                (!text.contains(['{', '}', '*', '?', '#']) && !is_relative).then_some(Segment::Literal(literal))
            }
        },
    }
}
