//! Finds a bucket by name: an unknown one may have been created a moment ago, and a known one deleted and created
//! again.

use std::sync::Arc;

use dripfeed_bucket::{Bucket, BucketError, Definition, Opened, Reopened};

use super::definitions::Definitions;
use crate::intake::Intake;
use crate::problem::Problem;

impl Intake {
    /// The bucket of this name.
    pub(crate) async fn find_bucket(&self, name: &str) -> Result<Bucket, Problem> {
        if let Some(bucket) = self.buckets().get(name) {
            return Ok(bucket);
        }
        let Some(definitions) = self.followed_definitions() else { return Err(Problem::unknown_bucket()) };
        definitions.ask().await?;
        let unknown = || if definitions.is_sealed(name) { Problem::sealed_bucket() } else { Problem::unknown_bucket() };
        self.buckets().get(name).ok_or_else(unknown)
    }

    /// For a deletion, which also ends what isn't served here.
    pub(super) fn bucket_to_delete(&self, definitions: &dyn Definitions, definition: &Definition) -> Option<Bucket> {
        let served = self.buckets().get(definition.bucket.as_str());
        served.or_else(|| {
            let store = self.redis().store().clone();
            Some(Bucket::defined(store, definitions.place(definition)?, definition.incarnation))
        })
    }

    /// What the current incarnation of a bucket answers, and that one where it isn't `bucket`: a call that was answered
    /// [`BucketError::Gone`] is made `again` with the bucket of its name that there is now.
    pub(crate) async fn or_current<T, F: Future<Output = Result<T, BucketError>>>(
        &self,
        bucket: &Bucket,
        answered: Result<T, BucketError>,
        again: impl FnOnce(Bucket) -> F,
    ) -> (Option<Bucket>, Result<T, BucketError>) {
        if !matches!(answered, Err(BucketError::Gone)) {
            return (None, answered);
        }
        // Apart, as it is rare: so each submission takes less memory.
        match Box::pin(self.reopened(bucket)).await {
            Ok(Some(current)) => {
                let answered = Box::pin(again(current.clone())).await;
                (Some(current), answered)
            }
            Ok(None) => (None, answered),
            Err(error) => (None, Err(error)),
        }
    }

    /// The bucket of this name that there is now, open. None: it was deleted, or never created over the API.
    async fn reopened(&self, gone: &Bucket) -> Result<Option<Bucket>, BucketError> {
        let Some(definitions) = self.followed_definitions() else { return Ok(None) };
        definitions.ask().await?;
        let name = gone.name().as_str();
        let (Some(definition), Some(bucket)) = (definitions.get(name), self.buckets().get(name)) else {
            return Ok(None);
        };
        // Who defined it may have been stopped before it was open, and who was about to delete it before that was
        // decided.
        let is_open = match bucket.open(definition.version).await? {
            Opened::Open => true,
            Opened::Suspended => match bucket.reopen_abandoned().await? {
                Reopened::Open => true,
                // Clients take it as final that a bucket is unknown.
                Reopened::Suspended => return Err(BucketError::Suspended),
                Reopened::Gone => false,
            },
            Opened::Closed | Opened::Gone => false,
        };
        Ok(is_open.then_some(bucket))
    }

    fn followed_definitions(&self) -> Option<Arc<dyn Definitions>> {
        self.definitions().filter(|definitions| definitions.is_on())
    }
}
