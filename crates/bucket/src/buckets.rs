//! The buckets that a process knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use dripfeed_job::BucketName;
use tokio::sync::watch;

use crate::bucket::Bucket;

/// The buckets by name. Changes replace the whole map, so that readers need no lock.
#[derive(Default)]
pub struct Buckets {
    all: ArcSwap<BTreeMap<BucketName, Bucket>>,
    changed: watch::Sender<()>,
}

impl Buckets {
    #[must_use]
    pub fn new(buckets: impl IntoIterator<Item = Bucket>) -> Self {
        let all = Self::default();
        all.replace(buckets);
        all
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<Bucket> {
        self.all.load().get(name).cloned()
    }

    #[must_use]
    pub fn has(&self, name: &BucketName) -> bool {
        self.all.load().contains_key(name)
    }

    /// All buckets, ordered by name.
    #[must_use]
    pub fn all(&self) -> Arc<BTreeMap<BucketName, Bucket>> {
        self.all.load_full()
    }

    /// The buckets whose names match, ordered by name.
    pub fn among(&self, has: impl Fn(&str) -> bool) -> Vec<Bucket> {
        self.all.load().values().filter(|bucket| has(bucket.name().as_str())).cloned().collect()
    }

    /// Adds or replaces `buckets`, and removes `gone`.
    pub fn change(&self, buckets: &[Bucket], gone: &[BucketName]) {
        self.all.rcu(|before| {
            let mut all = BTreeMap::clone(before);
            gone.iter().for_each(|name| drop(all.remove(name)));
            all.extend(buckets.iter().map(|bucket| (bucket.name().clone(), bucket.clone())));
            all
        });
        self.changed.send_replace(());
    }

    pub fn replace(&self, buckets: impl IntoIterator<Item = Bucket>) {
        let all = buckets.into_iter().map(|bucket| (bucket.name().clone(), bucket)).collect();
        self.all.store(Arc::new(all));
        self.changed.send_replace(());
    }

    /// Completes when `bucket` was removed, or replaced by another one of its name.
    pub async fn removed(&self, bucket: &Bucket) {
        let mut changes = self.changed.subscribe();
        let is_there = |other: &Bucket| Arc::ptr_eq(&other.redis_bucket, &bucket.redis_bucket);
        while self.all.load().get(bucket.name()).is_some_and(is_there) {
            // Can't fail, because `self` has the sender.
            let _ = changes.changed().await;
        }
    }
}
