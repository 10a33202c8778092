//! The processor: one independent lane for each bucket.

use std::collections::BTreeMap;
use std::sync::Arc;

use dripfeed_bucket::Bucket;
use dripfeed_job::BucketName;
use dripfeed_store::restart_on_panic;
use dripfeed_trace::Tracer;
use parking_lot::Mutex;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::attempts::Slots;
use crate::consumer_name::ConsumerName;
use crate::lane::Lane;
use crate::lane_context::{LaneContext, Route};
use crate::metrics::Metrics;
use crate::settings::ProcessorSettings;
use crate::standby::keep_sweeping;
use crate::upstream::Upstream;
use crate::upstream::connector::Connector;
use crate::upstream::shared_clients::Shared;

/// A processor: the lanes of a process. Cheap to clone; clones share their state.
#[derive(Clone)]
pub struct Processor {
    inner: Arc<Inner>,
}

struct Inner {
    settings: Arc<ProcessorSettings>,
    name: ConsumerName,
    connector: Connector,
    metrics: Metrics,
    tracer: Option<Tracer>,
    /// `None` once the processor is stopped: then no lane starts any more.
    lanes: Mutex<Option<BTreeMap<BucketName, Arc<LaneContext>>>>,
    /// The slots of each bucket, until its last lane has drained.
    slots: Shared<BucketName, Slots>,
    /// All lanes, including those that drain because their bucket was removed.
    tasks: TaskTracker,
}

impl Processor {
    /// Creates a processor and registers its metrics, without starting it. `tracer` exports the spans of attempts.
    #[must_use]
    pub fn new(
        settings: ProcessorSettings,
        connector: Connector,
        tracer: Option<Tracer>,
        registry: &mut Registry,
    ) -> Self {
        let inner = Inner {
            name: ConsumerName::new(settings.name.as_deref()),
            metrics: Metrics::register(registry, settings.histograms_by_bucket),
            settings: Arc::new(settings),
            connector,
            tracer,
            lanes: Mutex::new(Some(BTreeMap::new())),
            slots: Shared::empty(),
            tasks: TaskTracker::new(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Claims jobs and makes calls until `stop`, then drains; returns at most about two seconds after the drain time. A
    /// processor runs once.
    pub async fn run(&self, lanes: Vec<(Bucket, Upstream)>, stop: CancellationToken) {
        self.serve(lanes, &[]);
        tokio::select! {
            () = stop.cancelled() => {}
            never = keep_sweeping(self.inner.name.new_consumer(), || self.inner.all_lanes()) => match never {},
        }
        for context in self.inner.lanes.lock().take().into_iter().flat_map(BTreeMap::into_values) {
            context.stop();
        }
        self.inner.tasks.close();
        self.inner.tasks.wait().await;
    }

    /// Replaces the lanes: starts new ones, drains removed ones, and changes the settings of the others while they run.
    pub fn reconcile(&self, wanted: Vec<(Bucket, Upstream)>) {
        let mut lanes = self.inner.lanes.lock();
        let Some(lanes) = lanes.as_mut() else { return };
        let mut existing = std::mem::take(lanes);
        for (bucket, upstream) in wanted {
            let name = bucket.name().clone();
            let context = self.inner.update_or_start(existing.remove(&name), bucket, upstream);
            lanes.insert(name, context);
        }
        for context in existing.into_values() {
            context.stop();
        }
    }

    /// Adds or changes the lanes of `wanted`, and drains those of `gone`.
    pub fn serve(&self, wanted: Vec<(Bucket, Upstream)>, gone: &[BucketName]) {
        let mut lanes = self.inner.lanes.lock();
        let Some(lanes) = lanes.as_mut() else { return };
        for context in gone.iter().filter_map(|name| lanes.remove(name)) {
            context.stop();
        }
        for (bucket, upstream) in wanted {
            let name = bucket.name().clone();
            let context = self.inner.update_or_start(lanes.remove(&name), bucket, upstream);
            lanes.insert(name, context);
        }
    }
}

impl Inner {
    fn all_lanes(&self) -> Vec<Arc<LaneContext>> {
        self.lanes.lock().iter().flat_map(BTreeMap::values).cloned().collect()
    }

    /// Updates the existing lane. A bucket that is now at another place, or was created again, gets a new lane.
    fn update_or_start(
        self: &Arc<Self>,
        existing: Option<Arc<LaneContext>>,
        bucket: Bucket,
        upstream: Upstream,
    ) -> Arc<LaneContext> {
        match existing {
            Some(context) if context.bucket().is_same(&bucket) => {
                self.update(&context, &bucket, upstream);
                context
            }
            Some(context) => {
                context.stop();
                self.start(bucket, upstream)
            }
            None => self.start(bucket, upstream),
        }
    }

    fn start(self: &Arc<Self>, bucket: Bucket, upstream: Upstream) -> Arc<LaneContext> {
        let name = bucket.name().clone();
        let (metrics, slots) = (self.metrics.of(bucket.name()), self.slots.get(name.clone(), |_| Slots::default()));
        let (route, tracer) = (Route::new(&self.connector, upstream), self.tracer.clone());
        let context = Arc::new(LaneContext::new(bucket, route, metrics, slots, tracer));
        let lane = Lane::new(Arc::clone(&context), self.name.clone(), Arc::clone(&self.settings));
        let inner = Arc::clone(self);
        self.tasks.spawn(async move {
            restart_on_panic(format!("bucket {name}"), || lane.run()).await;
            inner.on_lane_ended(&name);
        });
        context
    }

    /// Removes the metrics of a bucket that was removed. A processor that stops keeps all of them until it exits.
    fn on_lane_ended(&self, bucket: &BucketName) {
        if self.lanes.lock().as_ref().is_some_and(|lanes| !lanes.contains_key(bucket)) {
            self.metrics.remove(bucket);
        }
    }

    fn update(&self, context: &LaneContext, bucket: &Bucket, upstream: Upstream) {
        let settings = bucket.settings();
        if *context.bucket().settings() != *settings {
            context.bucket().reconfigure((*settings).clone());
        }
        if *context.route().upstream() != upstream {
            context.reroute(Route::new(&self.connector, upstream));
        }
    }
}
