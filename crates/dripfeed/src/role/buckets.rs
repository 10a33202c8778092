//! The buckets that a role works with: those of the configuration, and those created over the API.

use dripfeed_bucket::{Bucket, BucketPlace, Buckets};
use dripfeed_job::BucketName;

use super::connect::Connected;
use super::defined::DefinedBucket;
use crate::settings::{ConfiguredBucket, Settings};

/// Those of `settings` that are `wanted`. One that runs already, at the same place in Redis, is reported its settings
/// and goes on.
pub(crate) fn configured(
    settings: &Settings,
    wanted: impl Fn(&BucketName) -> bool,
    connected: &Connected,
    running: &Buckets,
) -> Vec<Bucket> {
    let wanted = settings.buckets.iter().filter(|(name, _)| wanted(name));
    wanted.map(|(_, configured)| bucket(configured, None, connected, running)).collect()
}

/// As [`configured`].
pub(crate) fn defined(bucket_of: &DefinedBucket, connected: &Connected, running: &Buckets) -> Bucket {
    bucket(&bucket_of.configured, Some(bucket_of.definition.incarnation), connected, running)
}

fn bucket(configured: &ConfiguredBucket, incarnation: Option<u64>, connected: &Connected, running: &Buckets) -> Bucket {
    let settings = configured.settings(connected.durability);
    let is_it = |bucket: &Bucket| {
        bucket.incarnation() == incarnation && BucketPlace::from(&*bucket.settings()) == BucketPlace::from(&settings)
    };
    let bucket = match (running.get(settings.name.as_str()).filter(is_it), incarnation) {
        (Some(bucket), _) => {
            bucket.reconfigure(settings);
            bucket
        }
        (None, Some(incarnation)) => Bucket::defined(connected.store.clone(), settings, incarnation),
        (None, None) => Bucket::new(connected.store.clone(), settings),
    };
    bucket.limit_by(&configured.limits);
    bucket
}
