//! All buckets of a process, by name; replaced as a whole on reload.

use std::collections::BTreeMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use dripfeed_job::BucketName;

use crate::bucket::Bucket;

#[derive(Default)]
pub struct Buckets(ArcSwap<BTreeMap<BucketName, Bucket>>);

impl Buckets {
    #[must_use]
    pub fn new(buckets: impl IntoIterator<Item = Bucket>) -> Self {
        let all = Self::default();
        all.replace(buckets);
        all
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<Bucket> {
        self.0.load().get(name).cloned()
    }

    /// In the order of their names.
    #[must_use]
    pub fn all(&self) -> Arc<BTreeMap<BucketName, Bucket>> {
        self.0.load_full()
    }

    pub fn replace(&self, buckets: impl IntoIterator<Item = Bucket>) {
        let all = buckets.into_iter().map(|bucket| (bucket.name().clone(), bucket)).collect();
        self.0.store(Arc::new(all));
    }
}
