//! Which requests a policy is for: methods, and a template of the path.

use std::cmp::Ordering;
use std::fmt;

use percent_encoding::percent_decode_str;
use thiserror::Error;

/// More than there are.
const MOST_METHODS: usize = 32;
/// Each is compared for each request.
const MOST_SEGMENTS: usize = 64;

/// The methods (none: any) and the paths (None: any) that a policy is for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    methods: Vec<String>,
    path: Option<Template>,
}

/// A path with variables: `/v1/organizations/{org}/product/{id}`. `*` stands for one segment, `**`, at the end, for any
/// rest.
///
/// Segments are compared as the application sees them, percent-decoded; empty ones (`//`, a slash at the end) don't
/// count, so that another spelling of a path isn't another endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    segments: Vec<Segment>,
    text: String,
}

/// In the order of what is more specific. `End` comes after the last segment of a template without `**`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Segment {
    Rest,
    Variable(Option<String>),
    Literal(String),
    End,
}

#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BadMatch {
    #[error("`{0}` is no method: use letters, such as PUT")]
    Method(String),
    #[error("the path template `{0}` doesn't begin with a slash")]
    NoSlash(String),
    #[error("`{segment}` in the path template `{template}`: a segment is a literal, {{name}}, *, or ** at the end")]
    Segment { segment: String, template: String },
    #[error("{0} methods: use at most {MOST_METHODS}")]
    ManyMethods(usize),
    #[error("the path template has more than {MOST_SEGMENTS} segments: use `**` for the rest")]
    ManySegments,
    #[error("the variable `{name}` is twice in the path template `{template}`")]
    Twice { name: String, template: String },
}

/// What a path gave a template's variables.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Variables(Vec<(String, String)>);

impl Variables {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl Match {
    /// By method, none meaning any, and by a template of the path.
    ///
    /// # Errors
    /// For a bad method or template, and for too many.
    pub fn new<M: AsRef<str>>(methods: &[M], path: Option<&str>) -> Result<Self, BadMatch> {
        if methods.len() > MOST_METHODS {
            return Err(BadMatch::ManyMethods(methods.len()));
        }
        let methods = methods.iter().map(|method| parse_method(method.as_ref())).collect::<Result<_, _>>()?;
        Ok(Self { methods, path: path.map(Template::parse).transpose()? })
    }

    pub fn path(&self) -> Option<&Template> {
        self.path.as_ref()
    }

    /// None: the policy isn't for this request.
    pub(crate) fn variables(&self, method: &str, path: &str) -> Option<Variables> {
        if !self.methods.is_empty() && !self.methods.iter().any(|known| known.eq_ignore_ascii_case(method)) {
            return None;
        }
        self.path.as_ref().map_or_else(|| Some(Variables::default()), |template| template.variables(path))
    }

    /// Literals before variables before `**`, from the left; then named methods before any.
    pub(crate) fn compare_specificity(&self, other: &Self) -> Ordering {
        let ranks = |path: &Option<Template>| path.as_ref().map_or_else(|| vec![0], Template::ranks);
        ranks(&self.path).cmp(&ranks(&other.path)).then((!self.methods.is_empty()).cmp(&!other.methods.is_empty()))
    }
}

fn parse_method(text: &str) -> Result<String, BadMatch> {
    let sound = !text.is_empty() && text.len() <= 32 && text.bytes().all(|c| c.is_ascii_alphabetic() || c == b'-');
    if sound { Ok(text.to_ascii_uppercase()) } else { Err(BadMatch::Method(text.chars().take(32).collect())) }
}

impl Template {
    /// Reads `/v1/{org}/product/*`, with `**` for any rest.
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

    /// Whether every path that it matches is the same endpoint.
    pub(crate) fn names_one_endpoint(&self) -> bool {
        self.segments.last() == Some(&Segment::End)
    }

    pub(crate) fn has_variable(&self, name: &str) -> bool {
        self.segments.iter().any(|segment| matches!(segment, Segment::Variable(Some(known)) if known == name))
    }

    fn variables(&self, path: &str) -> Option<Variables> {
        let path = path.split(['?', '#']).next().unwrap_or_default();
        let mut given = path.split('/').filter(|segment| !segment.is_empty()).map(decode);
        let mut variables = Vec::new();
        for segment in &self.segments {
            match segment {
                Segment::Rest => return Some(Variables(variables)),
                Segment::End => return given.next().is_none().then_some(Variables(variables)),
                Segment::Literal(literal) if given.next()? == *literal => {}
                Segment::Literal(_) => return None,
                Segment::Variable(name) => {
                    let value = given.next()?;
                    if let Some(name) = name {
                        variables.push((name.clone(), value));
                    }
                }
            }
        }
        None
    }

    fn ranks(&self) -> Vec<u8> {
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
            None => (!text.contains(['{', '}', '*', '?', '#'])).then(|| Segment::Literal(decode(text))),
        },
    }
}

/// What isn't UTF-8 stays as it was sent.
fn decode(segment: &str) -> String {
    percent_decode_str(segment).decode_utf8().map_or_else(|_| segment.to_owned(), Into::into)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn path(template: &str) -> Match {
        Match::new::<&str>(&[], Some(template)).unwrap()
    }

    fn variables(template: &str, given: &str) -> Option<Vec<(String, String)>> {
        path(template).variables("GET", given).map(|variables| variables.0)
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn a_template_matches_segment_by_segment() {
        let template = "/v1/organizations/{org}/product/{id}";
        let both = vec![pair("org", "acme"), pair("id", "7")];
        assert_eq!(variables(template, "/v1/organizations/acme/product/7"), Some(both.clone()));
        assert_eq!(variables(template, "/v1/organizations/acme/product/7/?x=1#y"), Some(both));
        assert_eq!(variables(template, "/v1/organizations/acme/product"), None);
        assert_eq!(variables(template, "/v1/organizations/acme/product/7/8"), None);
        assert_eq!(variables("/a/*", "/a/b"), Some(vec![]));
        assert_eq!(variables("/a/**", "/a"), Some(vec![]));
        assert_eq!(variables("/a/**", "/a/b/c"), Some(vec![]));
        assert_eq!(variables("/", "/"), Some(vec![]));
        assert_eq!(variables("/", "/a"), None);
    }

    #[test]
    fn another_spelling_of_a_path_is_the_same_endpoint() {
        let org = Some(vec![pair("org", "a/b")]);
        assert_eq!(variables("/v1/{org}", "/%76%31/a%2Fb"), org);
        assert_eq!(variables("/v1/{org}", "//v1///a%2fb/"), org);
        assert_eq!(variables("/v1/{org}", "/v1/%ff"), Some(vec![pair("org", "%ff")]));
    }

    #[test]
    fn methods_match_in_any_case_and_none_is_any() {
        let put = Match::new(&["put"], None).unwrap();
        assert!(put.variables("PUT", "/").is_some());
        assert!(put.variables("Put", "/").is_some());
        assert!(put.variables("GET", "/").is_none());
        assert!(Match::default().variables("anything", "").is_some());
    }

    #[test]
    fn literals_are_more_specific_than_variables_and_those_than_any_rest() {
        let order = ["/**", "/{a}/**", "/{a}", "/v1/**", "/v1/{a}/**", "/v1/{a}", "/v1/{a}/x", "/v1/x/**", "/v1/x"];
        let matches: Vec<Match> =
            std::iter::once(Match::default()).chain(order.iter().map(|text| path(text))).collect();
        for (i, left) in matches.iter().enumerate() {
            for (j, right) in matches.iter().enumerate() {
                let compared = left.compare_specificity(right);
                // `/v1/{a}` and `/v1/{a}/x` match no path in common: their order doesn't matter.
                if !(left.path().is_some() && right.path().is_some() && disjoint(left, right)) {
                    assert_eq!(compared, i.cmp(&j), "{left:?} {right:?}");
                }
            }
        }
        let named = Match::new(&["GET"], Some("/v1/x")).unwrap();
        assert_eq!(named.compare_specificity(&path("/v1/x")), Ordering::Greater);
        assert_eq!(path("/v1/{a}").compare_specificity(&path("/v1/{b}")), Ordering::Equal);
    }

    fn disjoint(left: &Match, right: &Match) -> bool {
        let paths = ["/", "/v1", "/v2", "/v1/x", "/v1/y", "/v1/y/x", "/v1/x/x", "/v2/y/z"];
        !paths.iter().any(|given| left.variables("GET", given).is_some() && right.variables("GET", given).is_some())
    }

    #[test]
    fn what_is_no_template_says_why() {
        assert_eq!(Template::parse("v1/a"), Err(BadMatch::NoSlash("v1/a".to_owned())));
        for text in ["/**/a", "/a*", "/{}", "/{a b}", "/{a", "/a}", "/a?b"] {
            assert!(matches!(Template::parse(text), Err(BadMatch::Segment { .. })), "{text}");
        }
        assert!(matches!(Template::parse("/{a}/{a}"), Err(BadMatch::Twice { .. })));
        assert!(matches!(Match::new(&["G T"], None), Err(BadMatch::Method(_))));
    }
}
