//! Creates the buckets that a role works with, from the configuration or from definitions.

use dripfeed_bucket::{Bucket, BucketPlace, Buckets, Kind};
use dripfeed_job::BucketName;
use dripfeed_store::Durability;

use super::connect::Connected;
use super::defined::DefinedBucket;
use crate::settings::{ConfiguredBucket, Settings};

/// Returns the buckets of `settings` that are `wanted`. A bucket in `running` with the same place in Redis is
/// reconfigured and returned; others are created.
pub(crate) fn configured(
    settings: &Settings,
    wanted: impl Fn(&BucketName) -> bool,
    connected: &Connected,
    running: &Buckets,
) -> Vec<Bucket> {
    let wanted = settings.buckets.iter().filter(|(name, _)| wanted(name));
    wanted.map(|(_, configured)| bucket(configured, None, connected, running)).collect()
}

/// Returns the places in Redis of the buckets of `settings` that are `wanted`, to check permissions for. If they have
/// no stream bucket, adds a fictitious one: for buckets that may be created over the API, or, without buckets, for the
/// services and API keys that the role writes.
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

/// Returns the bucket of a definition. Like [`configured`], reuses the one in `running`.
pub(crate) fn defined(defined: &DefinedBucket, connected: &Connected, running: &Buckets) -> Bucket {
    bucket(&defined.configured, Some(defined.definition.incarnation), connected, running)
}

fn bucket(configured: &ConfiguredBucket, incarnation: Option<u64>, connected: &Connected, running: &Buckets) -> Bucket {
    let settings = configured.settings(connected.durability);
    let is_same = |bucket: &Bucket| {
        bucket.incarnation() == incarnation && BucketPlace::from(&*bucket.settings()) == BucketPlace::from(&settings)
    };
    let bucket = match (running.get(settings.name.as_str()).filter(is_same), incarnation) {
        (Some(bucket), _) => {
            bucket.reconfigure(settings);
            bucket
        }
        (None, Some(incarnation)) => Bucket::defined(connected.store.clone(), settings, incarnation),
        (None, None) => Bucket::new(connected.store.clone(), settings),
    };
    bucket.set_limits(&configured.limits);
    bucket
}
