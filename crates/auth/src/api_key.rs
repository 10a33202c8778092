//! An API key and its permissions.

use dripfeed_job::Priority;

use crate::scopes::Scope;
use crate::selector::{BucketSet, ServiceSet};

/// An API key; only its hash is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiKey {
    /// The caller's name: the `caller` of its jobs.
    pub id: String,
    pub sha256: [u8; 32],
    pub scopes: Vec<Scope>,
    pub buckets: BucketSet,
    pub services: ServiceSet,
    /// The highest priority of its jobs.
    pub priority: Priority,
}
