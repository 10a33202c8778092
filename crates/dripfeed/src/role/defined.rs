//! Buckets created over the API: this process follows their definitions in Redis.
//!
//! A bucket of the configuration takes precedence over a definition of the same name. Definitions that the `[define]`
//! of this process doesn't allow aren't served. While Redis doesn't answer, known definitions stay in force.

mod defined_bucket;
mod intake_definitions;
mod served_definitions;

use std::convert::Infallible;
use std::error::Error;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use dripfeed_bucket::{BucketError, KnownDefinitions};
use dripfeed_job::BucketName;
use dripfeed_store::{SharedQuestion, Store};
use parking_lot::Mutex as SyncMutex;
use tokio::sync::Mutex;
use tokio::time::sleep;

pub(crate) use self::defined_bucket::{AllDefined, DefinedBucket};
use self::served_definitions::ServedDefinitions;
use crate::settings::Settings;

/// So a definition holds everywhere within a second, also where one answer of Redis is late.
const EVERY: Duration = Duration::from_millis(400);

/// What a role does with them.
pub(crate) trait ServesDefined: Send + Sync {
    /// Serves what has `changed`, and no more what is `gone`; `all`: with these changes.
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
    /// About a name that isn't known here.
    unknown_names: SharedQuestion<BucketError>,
    role: OnceLock<Box<dyn ServesDefined>>,
}

impl DefinedBuckets {
    pub(crate) fn new(store: Store, settings: &Settings) -> Self {
        Self(Arc::new(Inner {
            store,
            known: Mutex::default(),
            served: SyncMutex::new(ServedDefinitions::new(settings)),
            unknown_names: SharedQuestion::default(),
            role: OnceLock::new(),
        }))
    }

    /// Begins to serve them, with those that there are. Where Redis can't be asked, they come later.
    pub(crate) async fn serve_with(&self, role: impl ServesDefined + 'static) {
        let _ = self.0.role.set(Box::new(role));
        self.follow_or_log().await;
    }

    pub(crate) async fn keep_following(&self) -> Infallible {
        loop {
            sleep(EVERY).await;
            self.follow_or_log().await;
        }
    }

    /// Other settings from now on: `replace` is given all that is defined beside them.
    pub(crate) fn reload(&self, settings: &Settings, replace: impl FnOnce(&AllDefined)) {
        let mut served = self.0.served.lock();
        served.reload(settings);
        replace(served.all());
    }

    async fn follow_or_log(&self) {
        // That Redis is away is reported by those who need it.
        if let Err(error) = self.follow().await {
            tracing::debug!(error = &error as &dyn Error, "could not read bucket definitions from Redis");
        }
    }

    /// Asks what has changed; it is served when this returns.
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
        let (changed, gone) = served.learn(changes);
        if let Some(role) = self.0.role.get() {
            role.change(&changed, &gone, served.all());
        }
        Ok(())
    }

    async fn ask(&self) -> Result<(), BucketError> {
        self.0.unknown_names.ask(self.follow()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_looks_come_within_the_second_that_is_promised() {
        assert!([EVERY].iter().all(|every| *every * 2 < Duration::from_secs(1)));
    }
}
