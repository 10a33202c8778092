//! The configured buckets, as a role works with them.

use dripfeed_bucket::{Bucket, Buckets};
use dripfeed_job::BucketName;

use super::connect::Connected;
use crate::settings::Settings;

/// Those of `settings` that are `wanted`. One that runs already, at the same place in Redis, is reported its settings
/// and goes on.
pub(crate) fn configured(
    settings: &Settings,
    wanted: impl Fn(&BucketName) -> bool,
    connected: &Connected,
    running: &Buckets,
) -> Vec<Bucket> {
    let wanted = settings.buckets.iter().filter(|(name, _)| wanted(name));
    wanted
        .map(|(name, configured)| {
            let settings = configured.settings(connected.durability);
            let bucket = match running.get(name.as_str()) {
                Some(bucket) if (bucket.settings().kind, &bucket.settings().key) == (settings.kind, &settings.key) => {
                    bucket.reconfigure(settings);
                    bucket
                }
                _ => Bucket::new(connected.store.clone(), settings),
            };
            bucket.limit_by(&configured.limits);
            bucket
        })
        .collect()
}
