//! Moves outcome jobs to their target buckets, in every role that serves the buckets; one process at a time per bucket.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;
use std::iter;
use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::{Bucket, Buckets, OutcomeCourier, outcome_jobs_of};
use dripfeed_job::BucketName;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use super::buckets;
use super::connect::Connected;
use crate::settings::{ConfiguredBucket, Settings};

/// A bucket that comes with a reload is served within this time.
const EVERY: Duration = Duration::from_secs(1);
/// And so is an outbox that a process with earlier settings has filled since the last look.
const LOOK_AGAIN: Duration = Duration::from_secs(15);

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
    let mut quiet = HashMap::new();
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
        quiet.retain(|name, _| all.contains_key(name));
        let others = all.values().filter(|bucket| !running.contains_key(bucket.name())).cloned();
        for bucket in with_outcomes(others, &mut quiet).await {
            let courier = keep_handing_over(bucket.clone(), Arc::clone(buckets));
            running.insert(bucket.name().clone(), couriers.spawn(courier));
        }
        drop(all);
        tokio::time::sleep(EVERY).await;
    }
}

/// Also where earlier settings have left some, or leave some yet: processes are replaced one after the other. `quiet`:
/// when the buckets without any are looked at again. Those created over the API have no targets.
async fn with_outcomes(buckets: impl Iterator<Item = Bucket>, quiet: &mut HashMap<BucketName, Instant>) -> Vec<Bucket> {
    let (mut with_outcomes, others): (Vec<_>, Vec<_>) =
        buckets.partition(|bucket| !bucket.settings().on_outcome.is_empty());
    let is_due = |bucket: &Bucket| quiet.get(bucket.name()).is_none_or(|at| *at <= Instant::now());
    let due: Vec<Bucket> =
        others.into_iter().filter(|bucket| bucket.incarnation().is_none() && is_due(bucket)).collect();
    let Ok(found) = outcome_jobs_of(&due).await else { return with_outcomes };
    for (bucket, jobs) in due.into_iter().zip(found) {
        // Not all at once.
        let again_in = LOOK_AGAIN.mul_f64(0.5 + 0.5 * fastrand::f64());
        quiet.insert(bucket.name().clone(), Instant::now() + again_in);
        if jobs > 0 {
            with_outcomes.push(bucket);
        }
    }
    with_outcomes
}

async fn keep_handing_over(from: Bucket, buckets: Arc<Buckets>) {
    let mut courier = OutcomeCourier::new(from);
    loop {
        courier.round(&buckets).await;
    }
}
