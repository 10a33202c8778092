//! Finds a bucket by name. An unknown bucket may just have been created, and a known one deleted and created again.

use std::sync::Arc;

use dripfeed_bucket::{Bucket, BucketError, Definition, OpenResult, ReopenResult};

use super::definitions::Definitions;
use crate::intake::Intake;
use crate::problem::Problem;

impl Intake {
    /// Returns the bucket of this name.
    pub(crate) async fn find_bucket(&self, name: &str) -> Result<Bucket, Problem> {
        if let Some(bucket) = self.buckets().get(name) {
            return Ok(bucket);
        }
        let Some(definitions) = self.followed_definitions() else { return Err(Problem::unknown_bucket()) };
        definitions.ask().await?;
        let unknown = || if definitions.is_sealed(name) { Problem::sealed_bucket() } else { Problem::unknown_bucket() };
        self.buckets().get(name).ok_or_else(unknown)
    }

    /// Returns the bucket of a definition for its deletion, even if it isn't served here.
    pub(super) fn bucket_to_delete(&self, definitions: &dyn Definitions, definition: &Definition) -> Option<Bucket> {
        let served = self.buckets().get(definition.bucket.as_str());
        served.or_else(|| {
            let store = self.redis().store().clone();
            Some(Bucket::defined(store, definitions.place(definition)?, definition.incarnation))
        })
    }

    /// If the result of a call is [`BucketError::Gone`], calls `retry` with the current bucket of the same name.
    /// Returns that bucket, if there was a retry, and the final result.
    pub(crate) async fn or_current<T, F: Future<Output = Result<T, BucketError>>>(
        &self,
        bucket: &Bucket,
        result: Result<T, BucketError>,
        retry: impl FnOnce(Bucket) -> F,
    ) -> (Option<Bucket>, Result<T, BucketError>) {
        if !matches!(result, Err(BucketError::Gone)) {
            return (None, result);
        }
        // Boxed, as it is rare: that keeps the future of submissions small.
        match Box::pin(self.reopened(bucket)).await {
            Ok(Some(current)) => {
                let result = Box::pin(retry(current.clone())).await;
                (Some(current), result)
            }
            Ok(None) => (None, result),
            Err(error) => (None, Err(error)),
        }
    }

    /// Returns the current bucket of the same name, and opens it. Returns `None` if it was deleted, or wasn't created
    /// over the API.
    async fn reopened(&self, gone: &Bucket) -> Result<Option<Bucket>, BucketError> {
        let Some(definitions) = self.followed_definitions() else { return Ok(None) };
        definitions.ask().await?;
        let name = gone.name().as_str();
        let (Some(definition), Some(bucket)) = (definitions.get(name), self.buckets().get(name)) else {
            return Ok(None);
        };
        // The process that created it may have stopped before opening it, or one that suspended it before deleting it.
        let is_open = match bucket.open(definition.version).await? {
            OpenResult::Open => true,
            OpenResult::Suspended => match bucket.reopen_abandoned().await? {
                ReopenResult::Open => true,
                // Not reported as unknown, which clients would take as final.
                ReopenResult::Suspended => return Err(BucketError::Suspended),
                ReopenResult::Gone => false,
            },
            OpenResult::Closed | OpenResult::Gone => false,
        };
        Ok(is_open.then_some(bucket))
    }

    fn followed_definitions(&self) -> Option<Arc<dyn Definitions>> {
        self.definitions().filter(|definitions| definitions.is_on())
    }
}
