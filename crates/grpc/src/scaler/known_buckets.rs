//! Finds buckets by name, also those that another process has just created.

use std::sync::Arc;

use dripfeed_bucket::{Bucket, BucketError, Buckets};
use futures::future::BoxFuture;
use tonic::Status;

use crate::refusal::unread_bucket;

/// Reads buckets that were created over the API from Redis. The executable implements it.
pub trait NewBuckets: Send + Sync {
    /// When it returns, all buckets that were created before the call are known.
    fn ask(&self) -> BoxFuture<'_, Result<(), BucketError>>;

    /// Whether the bucket isn't served because its credentials can't be decrypted here.
    fn is_sealed(&self, bucket: &str) -> bool;
}

#[derive(Clone)]
pub(crate) struct KnownBuckets {
    known: Arc<Buckets>,
    new: Arc<dyn NewBuckets>,
}

impl KnownBuckets {
    pub(crate) const fn new(known: Arc<Buckets>, new: Arc<dyn NewBuckets>) -> Self {
        Self { known, new }
    }

    pub(super) fn among(&self, has: impl Fn(&str) -> bool) -> Vec<Bucket> {
        self.known.among(has)
    }

    pub(super) async fn find(&self, name: &str) -> Result<Bucket, Status> {
        if let Some(bucket) = self.known.get(name) {
            return Ok(bucket);
        }
        self.new.ask().await.map_err(|error| unread_bucket(&error))?;
        self.known.get(name).ok_or_else(|| match self.new.is_sealed(name) {
            true => Status::unavailable(
                "the credentials of the bucket can't be decrypted with define.seal_key_file of this intake",
            ),
            false => Status::not_found("unknown bucket; create it, or add it to the configuration"),
        })
    }
}
