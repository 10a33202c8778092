//! Buckets created over the API: polls Redis for changes of their definitions.
//!
//! A bucket of the configuration takes precedence over a definition of the same name. Definitions that `[define]` of
//! this process doesn't allow aren't served. While Redis is unreachable, known definitions stay in force.

mod defined_bucket;
mod intake_definitions;
mod served_definitions;

use std::convert::Infallible;
use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use dripfeed_bucket::{BucketError, KnownDefinitions};
use dripfeed_job::BucketName;
use dripfeed_store::{CoalescedQuery, Store};
use parking_lot::Mutex as SyncMutex;
use tokio::sync::Mutex;
use tokio::time::sleep;

pub(crate) use self::defined_bucket::{AllDefined, DefinedBucket};
use self::served_definitions::ServedDefinitions;
use crate::settings::Settings;

/// Each process applies a change within a second, even if one reply of Redis is late.
const EVERY: Duration = Duration::from_millis(400);

/// A role that serves buckets created over the API.
pub(crate) trait ServeDefinedBuckets: Send + Sync {
    /// Serves the `changed` buckets, and stops serving those that are `gone`. `all`: after these changes.
    fn change(&self, changed: &[Arc<DefinedBucket>], gone: &[BucketName], all: &AllDefined);
}

/// Cheap to clone.
#[derive(Clone)]
pub(crate) struct DefinedBuckets(Arc<Inner>);

struct Inner {
    store: Store,
    /// Locked while Redis is asked.
    known: Mutex<KnownDefinitions>,
    served: SyncMutex<ServedDefinitions>,
    /// Shares polls that requests with unknown bucket names cause.
    unknown_names: CoalescedQuery<BucketError>,
    role: OnceLock<Box<dyn ServeDefinedBuckets>>,
}

impl DefinedBuckets {
    pub(crate) fn new(store: Store, settings: &Settings) -> Self {
        Self(Arc::new(Inner {
            store,
            known: Mutex::default(),
            served: SyncMutex::new(ServedDefinitions::new(settings)),
            unknown_names: CoalescedQuery::default(),
            role: OnceLock::new(),
        }))
    }

    /// Serves the buckets with `role`, beginning with the definitions that Redis has now. If Redis is unreachable, they
    /// are served later.
    pub(crate) async fn serve_with(&self, role: impl ServeDefinedBuckets + 'static) {
        let _ = self.0.role.set(Box::new(role));
        self.follow_or_log().await;
    }

    pub(crate) async fn keep_following(&self) -> Infallible {
        loop {
            sleep(EVERY).await;
            self.follow_or_log().await;
        }
    }

    /// Applies other settings, and passes the defined buckets that are served under them to `replace`.
    pub(crate) fn reload(&self, settings: &Settings, replace: impl FnOnce(&AllDefined)) {
        let mut served = self.0.served.lock();
        served.reload(settings);
        replace(served.all());
    }

    async fn follow_or_log(&self) {
        // The connection logs that Redis is unreachable.
        if let Err(error) = self.follow().await {
            tracing::debug!(error = &error as &dyn Error, "could not read bucket definitions from Redis");
        }
    }

    /// Reads changed definitions from Redis. When it returns, they are served.
    async fn follow(&self) -> Result<(), BucketError> {
        if !self.0.served.lock().is_on() {
            return Ok(());
        }
        let mut known = self.0.known.lock().await;
        let changes = known.follow(&self.0.store).await?;
        if changes.is_empty() {
            return Ok(());
        }
        let mut served = self.0.served.lock();
        let (changed, gone) = served.apply(changes);
        if let Some(role) = self.0.role.get() {
            role.change(&changed, &gone, served.all());
        }
        Ok(())
    }

    async fn ask(&self) -> Result<(), BucketError> {
        self.0.unknown_names.run(self.follow()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_polls_come_within_the_second_that_is_promised() {
        assert!([EVERY].iter().all(|every| *every * 2 < Duration::from_secs(1)));
    }
}
