//! Selects buckets or services by name or pattern.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use dripfeed_job::BucketName;
use dripfeed_limit::ServiceName;

/// Selects all names, some names, or names with some prefixes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector<N> {
    All,
    Named(BTreeSet<N>),
    /// Names, and prefixes such as `team-a-` of `team-a-*`.
    Matching {
        names: BTreeSet<N>,
        prefixes: BTreeSet<String>,
    },
}

pub type BucketSet = Selector<BucketName>;
pub type ServiceSet = Selector<ServiceName>;

impl<N: Borrow<str> + Ord> Selector<N> {
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.contains(name),
            Self::Matching { names, prefixes } => {
                names.contains(name) || prefixes.iter().any(|prefix| name.starts_with(prefix))
            }
        }
    }

    /// Returns whether this selects all names that `other` selects, including names that aren't in use yet.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let has_all = |names: &BTreeSet<N>| names.iter().all(|name| self.matches(name.borrow()));
        match other {
            Self::All => *self == Self::All,
            Self::Named(names) => has_all(names),
            Self::Matching { names, prefixes } => {
                has_all(names) && prefixes.iter().all(|prefix| self.covers_prefix(prefix))
            }
        }
    }

    /// Whether this selects all names that begin with `beginning`.
    fn covers_prefix(&self, beginning: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(_) => false,
            Self::Matching { prefixes, .. } => prefixes.iter().any(|prefix| beginning.starts_with(prefix)),
        }
    }

    /// Returns the texts that [`Selector::parse`] reads.
    #[must_use]
    pub fn to_strings(&self) -> Vec<String> {
        let plain = |names: &BTreeSet<N>| names.iter().map(|name| name.borrow().to_owned()).collect::<Vec<_>>();
        match self {
            Self::All => vec!["*".to_owned()],
            Self::Named(names) => plain(names),
            Self::Matching { names, prefixes } => {
                plain(names).into_iter().chain(prefixes.iter().map(|prefix| format!("{prefix}*"))).collect()
            }
        }
    }
}

impl<N: FromStr<Err: fmt::Display> + Ord> Selector<N> {
    /// Reads names, patterns such as `team-a-*`, and `*` for all.
    ///
    /// # Errors
    /// The index of an invalid text, and what is wrong with it.
    pub fn parse(texts: &[String]) -> Result<Self, (usize, String)> {
        let (mut names, mut prefixes, mut has_all) = (BTreeSet::new(), BTreeSet::new(), false);
        for (index, text) in texts.iter().enumerate() {
            if text == "*" {
                has_all = true;
                continue;
            }
            // A prefix of a valid name is a valid name.
            let name = text.strip_suffix('*').unwrap_or(text);
            let parsed: N = name.parse().map_err(|error: N::Err| (index, error.to_string()))?;
            if name.len() < text.len() {
                prefixes.insert(name.to_owned());
            } else {
                names.insert(parsed);
            }
        }
        Ok(match has_all {
            true => Self::All,
            false if prefixes.is_empty() => Self::Named(names),
            false => Self::Matching { names, prefixes },
        })
    }
}

impl From<BucketSet> for ServiceSet {
    /// The services with the names of the buckets.
    fn from(buckets: BucketSet) -> Self {
        let named = |names: BTreeSet<BucketName>| names.into_iter().map(ServiceName::from).collect();
        match buckets {
            BucketSet::All => Self::All,
            BucketSet::Named(names) => Self::Named(named(names)),
            BucketSet::Matching { names, prefixes } => Self::Matching { names: named(names), prefixes },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(texts: &[&str]) -> BucketSet {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        let Ok(set) = BucketSet::parse(&texts) else { unreachable!("plain names") };
        set
    }

    #[test]
    fn a_pattern_is_for_all_names_that_begin_so() {
        let set = set(&["mail", "team-a-*"]);
        for (name, is_in) in
            [("mail", true), ("team-a-1", true), ("team-a-", true), ("team-b-1", false), ("mai", false)]
        {
            assert_eq!(set.matches(name), is_in, "{name}");
        }
        assert_eq!(set.to_strings(), ["mail", "team-a-*"]);
    }

    #[test]
    fn a_set_covers_what_has_no_name_beyond_it() {
        let own = set(&["mail", "team-a-*"]);
        for within in [&["mail"][..], &["team-a-1", "mail"], &["team-a-*"], &["team-a-b*", "team-a-1"], &[]] {
            assert!(own.covers(&set(within)) && set(&["*"]).covers(&set(within)), "{within:?}");
        }
        for beyond in [&["*"][..], &["sms"], &["mail*"], &["team-*"], &["team-b-*"], &["mail", "t*"]] {
            assert!(!own.covers(&set(beyond)), "{beyond:?}");
        }
        assert!(set(&["*"]).covers(&set(&["*"])) && !set(&["mail"]).covers(&set(&["mail*"])));
    }

    #[test]
    fn an_invalid_selector_is_refused_with_its_index() {
        for (texts, place) in [(["mail", "a b"], 1), (["-*", "mail"], 0), (["mail", "a*b*"], 1), (["*", "b*d*"], 1)] {
            let read = BucketSet::parse(&texts.map(str::to_owned));
            assert_eq!(read.map_err(|(place, _)| place), Err(place), "{texts:?}");
        }
    }
}
