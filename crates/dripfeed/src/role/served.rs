//! Registers the buckets that this process serves in Redis, periodically, and reports stranded jobs.

use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::{BucketPlace, StrandedJobs, count_places, note_places_once, stranded_jobs};
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
/// Of the places that are looked at every time: a process reads no more than a few hundred a second.
const PLACES_PER_LOOK: u64 = 1000;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BucketLabels {
    bucket: String,
}

/// The buckets among the settings of this process, all of them, and what is stranded of others. Cheap to clone.
#[derive(Clone)]
pub(crate) struct ServedBuckets {
    places: Arc<Mutex<Vec<BucketPlace>>>,
    /// Of buckets created over the API.
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

    /// Others after a reload.
    pub(crate) fn replace(&self, settings: &Settings) {
        *self.places.lock() = places(settings);
    }

    /// Replaces the places of buckets created over the API.
    pub(crate) fn define(&self, all: &AllDefined) {
        let served = all.served.values();
        let places = served.map(|defined| BucketPlace::from(&defined.configured.settings(Durability::Process)));
        // Who can't serve one has it nevertheless: its jobs wait, and aren't to be drained.
        *self.defined.lock() = places.chain(all.sealed.values().cloned()).collect();
    }

    /// Notes, and looks at what others have noted, until `stop`. Where there are many places it looks less often.
    pub(crate) fn keep_watching(&self, store: &Store, stop: &CancellationToken) {
        let (served, store, stop) = (self.clone(), store.clone(), stop.clone());
        background::keep("registering buckets", move || served.clone().watch(store.clone(), stop.clone()));
    }

    async fn watch(self, store: Store, stop: CancellationToken) {
        let mut known: Vec<BucketPlace> = Vec::new();
        let mut rests = 0;
        loop {
            let places = [self.places.lock().clone(), self.defined.lock().clone()].concat();
            // That Redis is away is reported by those who need it.
            let is_noted = note_places_once(&store, &places).await.is_ok();
            if rests > 0 {
                rests -= 1;
            } else if is_noted && let Ok(stranded) = stranded_jobs(&store, &places).await {
                rests = count_places(&store).await.map_or(0, |places| places / PLACES_PER_LOOK);
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

/// Those of all buckets of `settings`.
fn places(settings: &Settings) -> Vec<BucketPlace> {
    settings.buckets.values().map(|bucket| BucketPlace::from(&bucket.settings(Durability::Process))).collect()
}

/// What is to be done about stranded jobs.
pub(crate) fn remedy(StrandedJobs { place, has_namesake, .. }: &StrandedJobs) -> String {
    let bucket = &place.bucket;
    if *has_namesake {
        // Both would use the same due times and replicas.
        return format!("move them with `dripfeed drain {bucket} --into OTHER`");
    }
    format!(
        "deliver them with `dripfeed -c OLD drain {bucket}`, where OLD is the configuration that had the bucket, or \
            move them with `dripfeed drain {bucket} --into OTHER`"
    )
}

/// A place, as messages name it.
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
