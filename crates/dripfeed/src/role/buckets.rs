//! The buckets that a role works with: those of the configuration, and those created over the API.

use dripfeed_bucket::{Bucket, BucketPlace, Buckets, Kind};
use dripfeed_job::BucketName;
use dripfeed_store::Durability;

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

/// The places of those of `settings` that are `wanted`; and one of a bucket that may be created over the API, where
/// the others don't stand for it. It stands, too, for a role without buckets, which has services and keys to write.
pub(crate) fn places(settings: &Settings, wanted: impl Fn(&BucketName) -> bool) -> Vec<BucketPlace> {
    let wanted = settings.buckets.iter().filter(|(name, _)| wanted(name));
    let place = |bucket: &ConfiguredBucket| BucketPlace::from(&bucket.settings(Durability::Process));
    let mut places: Vec<BucketPlace> = wanted.map(|(_, bucket)| place(bucket)).collect();
    if (settings.definitions.is_on() || places.is_empty()) && !places.iter().any(|place| place.kind == Kind::Stream) {
        let any = "any".parse().ok().map(|bucket| BucketPlace { bucket, kind: Kind::Stream, key: None });
        places.extend(any);
    }
    places
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
