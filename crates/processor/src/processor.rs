//! The processor: a lane for each bucket, none of them in another's way.

use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use dripfeed_bucket::Bucket;
use dripfeed_job::BucketName;
use futures::FutureExt;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::connector::Connector;
use crate::consumer::Name;
use crate::course::{Course, Route};
use crate::lane::Lane;
use crate::metrics::Metrics;
use crate::settings::ProcessorSettings;
use crate::upstream::Upstream;

/// All lanes of a process. Cheap to clone; clones are the same processor.
#[derive(Clone)]
pub struct Processor {
    inner: Arc<Inner>,
}

struct Inner {
    settings: ProcessorSettings,
    name: Name,
    connector: Connector,
    metrics: Metrics,
    /// None once it is stopped: then no lane starts any more.
    lanes: Mutex<Option<BTreeMap<BucketName, Arc<Course>>>>,
    /// Also those that are draining after their bucket was removed.
    tasks: TaskTracker,
}

impl Processor {
    /// Registers its metrics; starts nothing yet.
    #[must_use]
    pub fn new(settings: ProcessorSettings, connector: Connector, registry: &mut Registry) -> Self {
        let inner = Inner {
            name: Name::new(settings.name.as_deref()),
            settings,
            connector,
            metrics: Metrics::register(registry),
            lanes: Mutex::new(Some(BTreeMap::new())),
            tasks: TaskTracker::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Takes and calls until `stop`, then drains; returns at most about two seconds after the drain time. A processor
    /// runs once.
    pub async fn run(&self, lanes: Vec<(Bucket, Upstream)>, stop: CancellationToken) {
        self.reconcile(lanes);
        stop.cancelled().await;
        for course in self.inner.lanes().take().into_iter().flat_map(BTreeMap::into_values) {
            course.stop();
        }
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }

    /// Makes the running lanes those that are given: starts new ones, drains removed ones, and changes the others
    /// where they run.
    pub fn reconcile(&self, wanted: Vec<(Bucket, Upstream)>) {
        let mut lanes = self.inner.lanes();
        let Some(lanes) = lanes.as_mut() else { return };
        let mut before = std::mem::take(lanes);
        for (bucket, upstream) in wanted {
            let name = bucket.name().clone();
            let course = match before.remove(&name) {
                Some(course) if is_same_place(course.bucket(), &bucket) => {
                    self.inner.change(&course, &bucket, upstream);
                    course
                }
                Some(course) => {
                    course.stop();
                    self.inner.start(bucket, upstream)
                }
                None => self.inner.start(bucket, upstream),
            };
            lanes.insert(name, course);
        }
        for course in before.into_values() {
            course.stop();
        }
    }
}

impl Inner {
    fn lanes(&self) -> MutexGuard<'_, Option<BTreeMap<BucketName, Arc<Course>>>> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start(&self, bucket: Bucket, upstream: Upstream) -> Arc<Course> {
        let metrics = self.metrics.of(bucket.name());
        let course = Arc::new(Course::new(bucket, Route::new(&self.connector, upstream), metrics));
        let lane = Lane::new(Arc::clone(&course), self.name.clone(), self.settings.clone());
        self.tasks.spawn(keep_running(lane));
        course
    }

    fn change(&self, course: &Course, bucket: &Bucket, upstream: Upstream) {
        let settings = bucket.settings();
        if *course.bucket().settings() != *settings {
            course.bucket().reconfigure((*settings).clone());
        }
        if *course.route().upstream() != upstream {
            course.reroute(Route::new(&self.connector, upstream));
        }
    }
}

/// Whether two buckets of one name are one in Redis.
fn is_same_place(one: &Bucket, other: &Bucket) -> bool {
    let (one, other) = (one.settings(), other.settings());
    one.kind == other.kind && one.key == other.key
}

/// A lane that panics is a bug; its bucket must not stand still for it.
async fn keep_running(lane: Lane) {
    while AssertUnwindSafe(lane.run()).catch_unwind().await.is_err() {
        tracing::error!(bucket = %lane.bucket().name(), "A lane panicked: a bug, please report it; it starts again");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
