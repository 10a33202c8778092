//! Which buckets or services a key is for.

use std::borrow::Borrow;
use std::collections::BTreeSet;

use dripfeed_job::BucketName;
use dripfeed_limit::ServiceName;

/// All, or those of these names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selector<N> {
    All,
    Named(BTreeSet<N>),
}

pub type BucketSet = Selector<BucketName>;
pub type ServiceSet = Selector<ServiceName>;

impl<N: Borrow<str> + Ord> Selector<N> {
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.contains(name),
        }
    }
}
