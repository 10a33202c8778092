//! Registers the buckets that this process serves in Redis periodically, and reports stranded jobs.

use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::{BucketPlace, StrandedJobs, count_places, register_places_once, stranded_jobs};
use dripfeed_store::{Durability, Store};
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;

use super::defined::AllDefined;
use crate::background;
use crate::settings::Settings;

pub(super) const EVERY: Duration = Duration::from_secs(5);
/// The number of registered places per check in each interval: with more, checks are less frequent, so that a process
/// reads at most a few hundred places per second.
const PLACES_PER_CHECK: u64 = 1000;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BucketLabels {
    bucket: String,
}

/// The places of all buckets in the settings of this process, and the gauge of stranded jobs. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ServedBuckets {
    places: Arc<Mutex<Vec<BucketPlace>>>,
    /// The places of buckets created over the API.
    defined: Arc<Mutex<Vec<BucketPlace>>>,
    stranded: Family<BucketLabels, Gauge>,
}

impl ServedBuckets {
    pub(crate) fn register(settings: &Settings, registry: &mut Registry) -> Self {
        let served = Self { places: Arc::default(), defined: Arc::default(), stranded: Family::default() };
        let help = "Stranded jobs: accepted jobs of a bucket that no process is configured with";
        registry.register("stranded_jobs", help, served.stranded.clone());
        served.replace(settings);
        served
    }

    /// Replaces the places of configured buckets.
    pub(crate) fn replace(&self, settings: &Settings) {
        *self.places.lock() = places(settings);
    }

    /// Replaces the places of buckets created over the API.
    pub(crate) fn define(&self, all: &AllDefined) {
        let served = all.served.values();
        let places = served.map(|defined| BucketPlace::from(&defined.configured.settings(Durability::Process)));
        // Including buckets whose credentials can't be decrypted: their jobs wait, and must not be drained.
        *self.defined.lock() = places.chain(all.sealed.values().cloned()).collect();
    }

    /// Registers the places, and checks for stranded jobs, until `stop`.
    pub(crate) fn keep_watching(&self, store: &Store, stop: &CancellationToken) {
        let (served, store, stop) = (self.clone(), store.clone(), stop.clone());
        background::spawn_restarting("registering buckets", move || served.clone().watch(store.clone(), stop.clone()));
    }

    async fn watch(self, store: Store, stop: CancellationToken) {
        let mut known: Vec<BucketPlace> = Vec::new();
        let mut skip_checks = 0;
        loop {
            let places = [self.places.lock().clone(), self.defined.lock().clone()].concat();
            // The connection logs that Redis is unreachable.
            let is_noted = register_places_once(&store, &places).await.is_ok();
            if skip_checks > 0 {
                skip_checks -= 1;
            } else if is_noted && let Ok(stranded) = stranded_jobs(&store, &places).await {
                skip_checks = count_places(&store).await.map_or(0, |places| places / PLACES_PER_CHECK);
                stranded.iter().filter(|found| !known.contains(&found.place)).for_each(warn);
                self.show(&stranded);
                known = stranded.into_iter().map(|found| found.place).collect();
            }
            tokio::select! {
                () = stop.cancelled() => return,
                () = tokio::time::sleep(EVERY) => {}
            }
        }
    }

    fn show(&self, stranded: &[StrandedJobs]) {
        self.stranded.clear();
        for StrandedJobs { place, jobs, .. } in stranded {
            let gauge = self.stranded.get_or_create_owned(&BucketLabels { bucket: place.bucket.to_string() });
            gauge.inc_by(i64::try_from(*jobs).unwrap_or(i64::MAX));
        }
    }
}

/// The places of all buckets of `settings`.
fn places(settings: &Settings) -> Vec<BucketPlace> {
    settings.buckets.values().map(|bucket| BucketPlace::from(&bucket.settings(Durability::Process))).collect()
}

/// Describes what to do about stranded jobs.
pub(crate) fn remedy(StrandedJobs { place, has_namesake, .. }: &StrandedJobs) -> String {
    let bucket = &place.bucket;
    if *has_namesake {
        // Not delivered, because the other bucket of this name uses the same due times and replicas.
        return format!("move them with `dripfeed drain {bucket} --into OTHER`");
    }
    format!(
        "deliver them with `dripfeed -c OLD drain {bucket}`, where OLD is the configuration that had the bucket, or \
            move them with `dripfeed drain {bucket} --into OTHER`"
    )
}

/// Formats a place for messages.
pub(super) fn described(place: &BucketPlace, store: &Store) -> String {
    format!("`{}` ({}, key {})", place.bucket, place.kind.as_str(), place.jobs_key(store))
}

fn warn(stranded: &StrandedJobs) {
    let StrandedJobs { place, key, jobs, outcome_jobs, .. } = stranded;
    let (bucket, kind) = (&place.bucket, place.kind.as_str());
    tracing::warn!(
        %bucket, kind, key, jobs, outcome_jobs, what_to_do = remedy(stranded),
        "accepted jobs are stranded: no process is configured with this bucket, kind and key"
    );
}
