//! The requests that a policy matches: methods, and a path template.

mod bad_match;
mod normalize;
mod template;

use std::cmp::Ordering;

pub use self::bad_match::BadMatch;
use self::bad_match::MOST_METHODS;
pub(crate) use self::normalize::normalized;
pub use self::template::Template;
pub(crate) use self::template::Variables;

/// The requests that a policy applies to: those with one of the methods, or any if it has none, and with a path that
/// matches the template, or any path without one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Match {
    methods: Vec<String>,
    path: Option<Template>,
}

impl Match {
    /// Parses methods and a path template. Without methods, or without a path, all match.
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

    /// The values of the template's variables. `None` if the policy doesn't apply to the request.
    pub(crate) fn variables(&self, method: &str, path: &str) -> Option<Variables> {
        if !self.methods.is_empty() && !self.names_method(method) {
            return None;
        }
        self.path.as_ref().map_or_else(|| Some(Variables::default()), |template| template.variables(path))
    }

    pub(crate) fn names_method(&self, method: &str) -> bool {
        self.methods.iter().any(|known| known.eq_ignore_ascii_case(method))
    }

    /// A greater match is more specific. Compares segments from the left, literals before variables before `**`; then
    /// matches with methods are before those without.
    pub(crate) fn compare_specificity(&self, other: &Self) -> Ordering {
        let ranks = |path: &Option<Template>| path.as_ref().map_or_else(|| vec![0], Template::ranks);
        ranks(&self.path).cmp(&ranks(&other.path)).then((!self.methods.is_empty()).cmp(&!other.methods.is_empty()))
    }
}

fn parse_method(text: &str) -> Result<String, BadMatch> {
    let sound = !text.is_empty() && text.len() <= 32 && text.bytes().all(|c| c.is_ascii_alphabetic() || c == b'-');
    if sound { Ok(text.to_ascii_uppercase()) } else { Err(BadMatch::Method(text.chars().take(32).collect())) }
}

#[cfg(test)]
mod tests;
