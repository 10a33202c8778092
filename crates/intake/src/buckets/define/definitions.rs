//! The interface to definitions. The executable implements it, because this crate doesn't parse configuration.

use std::sync::Arc;

use dripfeed_bucket::{BucketError, BucketSettings, Definition, DefinitionBounds};
use dripfeed_job::BucketName;
use futures::future::BoxFuture;
use serde_json::Value as Json;

/// The buckets created over the API, as this process follows them.
pub trait Definitions: Send + Sync {
    /// Whether anybody may define buckets.
    fn is_on(&self) -> bool;

    /// Whether a bucket of this name is configured, which no definition changes.
    fn is_configured(&self, bucket: &str) -> bool;

    /// Whether its credentials can't be decrypted here, so that it isn't served.
    fn is_sealed(&self, bucket: &str) -> bool;

    /// As far as it is known here.
    fn get(&self, bucket: &str) -> Option<Arc<Definition>>;

    /// Reads a definition that was sent. One that says nothing of credentials keeps those of `before` where it has the
    /// same origin.
    ///
    /// # Errors
    /// All that is wrong with it.
    fn prepare(
        &self,
        bucket: &BucketName,
        document: &Json,
        before: Option<&Definition>,
    ) -> Result<PreparedDefinition, Vec<DefinitionError>>;

    /// Settings for the same place in Redis (name, kind and key), else the defaults; also of a definition that isn't
    /// served, because it isn't allowed any more. None: its kind can't be read.
    fn place(&self, definition: &Definition) -> Option<BucketSettings>;

    /// Whether the name of its upstream leads to an address that may not be called, now. Each call looks again.
    fn has_private_address<'a>(&'a self, bucket: &'a BucketName, definition: &'a Json) -> BoxFuture<'a, bool>;

    /// What all definitions may come to.
    fn bounds(&self) -> DefinitionBounds;

    /// The most calls at once that one of them may have of each processor.
    fn most_concurrency(&self) -> u32;

    /// Asks Redis what has changed; it holds here when this returns.
    fn follow(&self) -> BoxFuture<'_, Result<(), BucketError>>;

    /// As `follow`, once for all who ask at about the same time, and at most 20 times a second. What was defined before
    /// the call is known when it returns.
    fn ask(&self) -> BoxFuture<'_, Result<(), BucketError>>;
}

/// A definition that may be stored.
#[derive(Clone, Debug)]
pub struct PreparedDefinition {
    /// Less its credentials.
    pub definition: Json,
    pub sealed: Option<String>,
    /// What it comes to.
    pub settings: BucketSettings,
}

/// One thing that is wrong with a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionError {
    /// A key, such as `leak.rate`; empty: the whole.
    pub place: String,
    pub message: String,
}
