//! Moves outcome jobs to their target buckets, in every role that serves the buckets; one process at a time per bucket.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::iter;
use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::{Bucket, Buckets, OutcomeCourier};
use dripfeed_job::BucketName;
use tokio::task::{AbortHandle, JoinSet};

use super::buckets;
use super::connect::Connected;
use crate::settings::{ConfiguredBucket, Settings};

/// A bucket that comes with a reload is served within this time.
const EVERY: Duration = Duration::from_secs(1);

/// Those from which ends go elsewhere, and those that they go to.
pub(crate) fn involved(settings: &Settings, connected: &Connected, running: &Buckets) -> Vec<Bucket> {
    let sources = settings.buckets.iter().filter(|(_, bucket)| !bucket.on_outcome().is_empty());
    let of_source = |(name, bucket)| {
        let targets = ConfiguredBucket::on_outcome(bucket).targets.iter().map(|target| &target.bucket);
        iter::once(name).chain(targets)
    };
    let involved: BTreeSet<&BucketName> = sources.flat_map(of_source).collect();
    buckets::configured(settings, |name| involved.contains(name), connected, running)
}

/// From those of `buckets` that have `on_outcome`, or outcome jobs, to whichever of them it names.
pub(crate) async fn hand_over(buckets: &Arc<Buckets>) -> Infallible {
    // All end with this.
    let mut couriers = JoinSet::new();
    let mut running: BTreeMap<BucketName, AbortHandle> = BTreeMap::new();
    let mut quiet = BTreeSet::new();
    loop {
        let all = buckets.all();
        running.retain(|name, courier| {
            let stays = all.contains_key(name) && !courier.is_finished();
            if !stays {
                courier.abort();
            }
            stays
        });
        while couriers.try_join_next().is_some() {}
        quiet.retain(|name| all.contains_key(name));
        for (name, bucket) in all.iter() {
            if running.contains_key(name) || !has_outcomes(bucket, &mut quiet).await {
                continue;
            }
            running.insert(name.clone(), couriers.spawn(keep_handing_over(bucket.clone(), Arc::clone(buckets))));
        }
        drop(all);
        tokio::time::sleep(EVERY).await;
    }
}

/// Also where earlier settings have left some: that is looked for once. `quiet`: the buckets that were looked at.
async fn has_outcomes(bucket: &Bucket, quiet: &mut BTreeSet<BucketName>) -> bool {
    if !bucket.settings().on_outcome.is_empty() {
        return true;
    }
    if quiet.contains(bucket.name()) {
        return false;
    }
    let jobs = bucket.outcome_jobs().await;
    if jobs.is_ok() {
        quiet.insert(bucket.name().clone());
    }
    jobs.is_ok_and(|jobs| jobs > 0)
}

async fn keep_handing_over(from: Bucket, buckets: Arc<Buckets>) {
    let mut courier = OutcomeCourier::new(from);
    loop {
        courier.round(&buckets).await;
    }
}
