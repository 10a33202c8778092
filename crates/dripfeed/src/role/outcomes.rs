//! Moves outcome jobs to their target buckets, in every role that serves the buckets; one process at a time per bucket.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::convert::Infallible;
use std::iter;
use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::{Bucket, Buckets, OutboxRelay, outcome_jobs_of};
use dripfeed_job::BucketName;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use super::buckets;
use super::connect::Connected;
use crate::settings::{ConfiguredBucket, Settings};

/// The time within which a bucket that a reload adds is served.
const EVERY: Duration = Duration::from_secs(1);
/// The time within which outcome jobs are found that a process with earlier settings has added to an outbox.
const RECHECK_INTERVAL: Duration = Duration::from_secs(15);

/// Returns the buckets with `on_outcome`, and their targets.
pub(crate) fn involved(settings: &Settings, connected: &Connected, running: &Buckets) -> Vec<Bucket> {
    let sources = settings.buckets.iter().filter(|(_, bucket)| !bucket.on_outcome().is_empty());
    let source_and_targets = |(name, bucket)| {
        let targets = ConfiguredBucket::on_outcome(bucket).targets.iter().map(|target| &target.bucket);
        iter::once(name).chain(targets)
    };
    let involved: BTreeSet<&BucketName> = sources.flat_map(source_and_targets).collect();
    buckets::configured(settings, |name| involved.contains(name), connected, running)
}

/// Moves outcome jobs from those of `buckets` that have `on_outcome` or outcome jobs, to their targets in `buckets`.
pub(crate) async fn hand_over(buckets: &Arc<Buckets>) -> Infallible {
    // Aborts its tasks when this future is dropped.
    let mut couriers = JoinSet::new();
    let mut running: BTreeMap<BucketName, AbortHandle> = BTreeMap::new();
    let mut next_checks = HashMap::new();
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
        next_checks.retain(|name, _| all.contains_key(name));
        let others = all.values().filter(|bucket| !running.contains_key(bucket.name())).cloned();
        for bucket in with_outcomes(others, &mut next_checks).await {
            let courier = keep_handing_over(bucket.clone(), Arc::clone(buckets));
            running.insert(bucket.name().clone(), couriers.spawn(courier));
        }
        drop(all);
        tokio::time::sleep(EVERY).await;
    }
}

/// The buckets that have `on_outcome`, or outcome jobs that processes with earlier settings left, or still add during a
/// rolling restart. `next_checks`: when to check the buckets without `on_outcome`. Buckets created over the API have no
/// targets.
async fn with_outcomes(
    buckets: impl Iterator<Item = Bucket>,
    next_checks: &mut HashMap<BucketName, Instant>,
) -> Vec<Bucket> {
    let (mut with_outcomes, others): (Vec<_>, Vec<_>) =
        buckets.partition(|bucket| !bucket.settings().on_outcome.is_empty());
    let is_due = |bucket: &Bucket| next_checks.get(bucket.name()).is_none_or(|at| *at <= Instant::now());
    let due: Vec<Bucket> =
        others.into_iter().filter(|bucket| bucket.incarnation().is_none() && is_due(bucket)).collect();
    let Ok(counts) = outcome_jobs_of(&due).await else { return with_outcomes };
    for (bucket, jobs) in due.into_iter().zip(counts) {
        // With jitter, to spread the checks.
        let interval = RECHECK_INTERVAL.mul_f64(0.5 + 0.5 * fastrand::f64());
        next_checks.insert(bucket.name().clone(), Instant::now() + interval);
        if jobs > 0 {
            with_outcomes.push(bucket);
        }
    }
    with_outcomes
}

async fn keep_handing_over(from: Bucket, buckets: Arc<Buckets>) {
    let mut courier = OutboxRelay::new(from);
    loop {
        courier.round(&buckets).await;
    }
}
