//! Which buckets or services a key is for.

use std::borrow::Borrow;
use std::collections::BTreeSet;

use dripfeed_job::BucketName;
use dripfeed_limit::ServiceName;

/// All, or those of these names, or names that begin so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector<N> {
    All,
    Named(BTreeSet<N>),
    /// Of `team-a-*` the part before the `*`.
    Matching {
        names: BTreeSet<N>,
        prefixes: BTreeSet<String>,
    },
}

pub type BucketSet = Selector<BucketName>;
pub type ServiceSet = Selector<ServiceName>;

impl<N: Borrow<str> + Ord> Selector<N> {
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.contains(name),
            Self::Matching { names, prefixes } => {
                names.contains(name) || prefixes.iter().any(|prefix| name.starts_with(prefix))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_for_all_names_that_begin_so() {
        let Ok(name) = "mail".parse() else { unreachable!("a plain name") };
        let set = BucketSet::Matching { names: [name].into(), prefixes: ["team-a-".to_owned()].into() };
        for (name, is_in) in
            [("mail", true), ("team-a-1", true), ("team-a-", true), ("team-b-1", false), ("mai", false)]
        {
            assert_eq!(set.has(name), is_in, "{name}");
        }
    }
}
