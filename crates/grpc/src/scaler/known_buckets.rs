//! The buckets that this process knows; an unknown one may have been created at another a moment ago.

use std::sync::Arc;

use dripfeed_bucket::{Bucket, BucketError, Buckets};
use futures::future::BoxFuture;
use tonic::Status;

use crate::refusal::unread_bucket;

/// Learns of buckets that are created over the API. The executable implements it.
pub trait NewBuckets: Send + Sync {
    /// What was created before the call is known when it returns.
    fn ask(&self) -> BoxFuture<'_, Result<(), BucketError>>;

    /// Whether its credentials can't be decrypted here, so that it isn't served.
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
