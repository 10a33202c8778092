//! The interface to definitions. The executable implements it, because this crate doesn't parse configuration.

use std::sync::Arc;

use dripfeed_bucket::{BucketError, BucketSettings, Definition, DefinitionBounds};
use dripfeed_job::BucketName;
use futures::future::BoxFuture;
use serde_json::Value as Json;

/// The buckets created over the API, as far as this process knows them.
pub trait Definitions: Send + Sync {
    /// Whether buckets may be created over the API.
    fn is_on(&self) -> bool;

    /// Whether a bucket of this name is in the configuration, so that it can't be defined.
    fn is_configured(&self, bucket: &str) -> bool;

    /// Whether a bucket isn't served here because its credentials can't be decrypted.
    fn is_sealed(&self, bucket: &str) -> bool;

    /// Returns the definition that this process knows.
    fn get(&self, bucket: &str) -> Option<Arc<Definition>>;

    /// Parses a definition from a request. Without credentials it keeps those of `before` if the upstream has the same
    /// origin.
    ///
    /// # Errors
    /// All errors of the definition.
    fn prepare(
        &self,
        bucket: &BucketName,
        document: &Json,
        before: Option<&Definition>,
    ) -> Result<PreparedDefinition, Vec<DefinitionError>>;

    /// Returns settings with the same place in Redis (name, kind and key), otherwise with defaults, also for a
    /// definition that isn't served because it isn't allowed any more. Returns `None` if its kind can't be read.
    fn place(&self, definition: &Definition) -> Option<BucketSettings>;

    /// Whether the host of its upstream currently has an address that may not be called. Each call checks again.
    fn has_private_address<'a>(&'a self, bucket: &'a BucketName, definition: &'a Json) -> BoxFuture<'a, bool>;

    /// The bounds of all definitions together.
    fn bounds(&self) -> DefinitionBounds;

    /// The maximum of concurrent calls that a definition may set for each processor.
    fn most_concurrency(&self) -> u32;

    /// Reads changes from Redis. They are in effect when this returns.
    fn follow(&self) -> BoxFuture<'_, Result<(), BucketError>>;

    /// Like `follow`, but shared by concurrent callers, and made at most 20 times a second. When it returns, all
    /// definitions from before the call are known.
    fn ask(&self) -> BoxFuture<'_, Result<(), BucketError>>;
}

/// A definition that may be stored.
#[derive(Clone, Debug)]
pub struct PreparedDefinition {
    /// Without its credentials.
    pub definition: Json,
    pub sealed: Option<String>,
    /// The resulting settings.
    pub settings: BucketSettings,
}

/// An error of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinitionError {
    /// A key, such as `leak.rate`; empty for the definition as a whole.
    pub place: String,
    pub message: String,
}
