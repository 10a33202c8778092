//! Finds a bucket by name. An unknown bucket may just have been created, and a known one deleted and created again.

use std::sync::Arc;

use dripfeed_auth::LimitedCaller;
use dripfeed_bucket::{Bucket, BucketError, Definition, ReopenResult};

use super::definitions::Definitions;
use crate::intake::Intake;
use crate::problem::{Code, Problem};

/// An error that may mean that a bucket was deleted, is suspended for its deletion, or was created again.
pub(crate) trait MayBeGone: From<BucketError> {
    fn is_gone(&self) -> bool;
}

impl MayBeGone for BucketError {
    fn is_gone(&self) -> bool {
        matches!(self, Self::Gone)
    }
}

impl MayBeGone for Problem {
    fn is_gone(&self) -> bool {
        self.code() == Code::UnknownBucket
    }
}

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

    /// Makes a call with the bucket, and as [`Intake::or_current`] again. Returns the bucket of the last call, and its
    /// result.
    pub(crate) async fn in_current<T, E: MayBeGone, F: Future<Output = Result<T, E>>>(
        &self,
        bucket: Bucket,
        call: impl Fn(Bucket) -> F,
    ) -> (Bucket, Result<T, E>) {
        let result = call(bucket.clone()).await;
        let (current, result) = self.or_current(&bucket, result, call).await;
        (current.unwrap_or(bucket), result)
    }

    /// As [`Intake::in_turn`], and again with the current bucket of the same name ([`Intake::in_current`]).
    pub(crate) async fn in_turn_in_current<T, W>(
        &self,
        caller: LimitedCaller,
        bucket: Bucket,
        work: impl Fn(Bucket) -> W,
    ) -> (Bucket, Result<T, Problem>)
    where
        T: Send + 'static,
        W: Future<Output = Result<T, BucketError>> + Send + 'static,
    {
        let (work, caller) = (&work, &caller);
        self.in_current(bucket, |bucket| async move { self.in_turn(caller.clone(), &bucket, work).await }).await
    }

    /// If the result of a call is [`BucketError::Gone`], calls `retry` with the current bucket of the same name.
    /// Returns that bucket, if there was a retry, and the final result.
    pub(crate) async fn or_current<T, E: MayBeGone, F: Future<Output = Result<T, E>>>(
        &self,
        bucket: &Bucket,
        result: Result<T, E>,
        retry: impl FnOnce(Bucket) -> F,
    ) -> (Option<Bucket>, Result<T, E>) {
        if !result.as_ref().is_err_and(E::is_gone) {
            return (None, result);
        }
        // Boxed, as it is rare: that keeps the future of submissions small.
        match Box::pin(self.reopened(bucket)).await {
            Ok(Some(current)) => {
                let result = Box::pin(retry(current.clone())).await;
                (Some(current), result)
            }
            Ok(None) => (None, result),
            Err(error) => (None, Err(error.into())),
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
        match bucket.open_unless_deleted(definition.version).await? {
            ReopenResult::Open => Ok(Some(bucket)),
            // Not reported as unknown, which clients would take as final.
            ReopenResult::Suspended => Err(BucketError::Suspended),
            ReopenResult::Gone => Ok(None),
        }
    }

    fn followed_definitions(&self) -> Option<Arc<dyn Definitions>> {
        self.definitions().filter(|definitions| definitions.is_on())
    }
}
