//! `dripfeed processor`: calls the upstreams.

use std::sync::Arc;

use dripfeed_auth::BucketSet;
use dripfeed_bucket::{Bucket, Buckets};
use dripfeed_http::Health;
use dripfeed_intake::metrics::{BucketGauges, MetricsExporter};
use dripfeed_intake::probes;
use dripfeed_job::BucketName;
use dripfeed_processor::{Connector, Processor, Upstream};
use dripfeed_store::Durability;
use tokio_util::sync::CancellationToken;

use super::connect::{self, Connected};
use super::defined::{AllDefined, DefinedBucket, DefinedBuckets, ServeDefinedBuckets};
use super::reload::Reloading;
use super::served::ServedBuckets;
use super::{Arguments, HEALTH_LIMITS, after_start, buckets, listen, outcomes};
use crate::background;
use crate::exit::Failure;
use crate::memory;
use crate::open_files;
use crate::service_manager;
use crate::settings::{Layers, Settings};
use crate::start_memory;
use crate::telemetry::{Log, Traces};

/// Runs until SIGTERM, then drains.
///
/// # Errors
/// When it can't start.
pub(crate) async fn run(arguments: Arguments, layers: Layers) -> Result<(), Failure> {
    let (settings, checksum) = Settings::load_with_checksum(&layers)?;
    let log = Log::start(&settings.log);
    let stop = arguments.stop()?;
    let reloading = Reloading::new(layers, settings, checksum, log)?;
    let settings = &reloading.settings;
    let wanted = &settings.processor.buckets;
    let concurrency = total_concurrency(settings, wanted);
    if !settings.buckets.is_empty() && concurrency == 0 {
        tracing::warn!("processor.buckets matches no bucket of the configuration: none of them is called here");
    }
    open_files::raise_for("the concurrency of all buckets together", concurrency);
    let places = buckets::places(settings, |name| wanted.matches(name.as_str()));
    let Some(connected) = connect::to_redis(&settings.redis, &places, &stop).await? else { return Ok(()) };
    connected.log();
    let mut registry = super::registry();
    let buckets = Arc::new(Buckets::default());
    // Without buckets: intakes export their gauges. If all processes did, each scrape would query Redis from all of
    // them.
    let gauges = BucketGauges::register(Arc::default(), &mut registry);
    let connector = Connector::new().map_err(anyhow::Error::from)?;
    let traces = Traces::start(settings.trace.as_ref(), "processor")?;
    let processor = Processor::new(settings.processor.settings.clone(), connector, traces.tracer(), &mut registry);
    let served = ServedBuckets::register(settings, &mut registry);
    connected.memory.register(&mut registry);
    reloading.metrics.register(&mut registry);
    let health = Health::new(connected.store.clone());
    let exporter = MetricsExporter::new(health.clone(), gauges, Arc::new(registry));
    let listener = listen("processor.listen", settings.processor.listen).await?;
    tracing::info!("listening on http://{}", listener.local_addr()?);

    // Health and metrics are served until the last job is settled, so that an operator can watch the drain.
    let drained = CancellationToken::new();
    let (shutdown, stop_on_failure) = (drained.clone(), stop.clone().drop_guard());
    let health_server = background::spawn(async move {
        // If the listener fails, the health of the processor is unknown: it drains, and ends with the error.
        let _guard = stop_on_failure;
        dripfeed_http::serve(listener, probes::router(exporter), HEALTH_LIMITS, shutdown).await
    });
    let lanes = ProcessorLanes {
        wanted: settings.processor.buckets.clone(),
        connected: connected.clone(),
        served: served.clone(),
        buckets,
        processor: processor.clone(),
    };
    let lanes = Arc::new(lanes);
    let defined = DefinedBuckets::new(connected.store.clone(), settings);
    let configured = lanes.configured(settings);
    defined.serve_with(Arc::clone(&lanes)).await;
    served.keep_watching(&connected.store, &stop);
    let outcome_buckets = Arc::new(Buckets::default());
    outcome_buckets.replace(outcomes::involved(settings, &connected, &outcome_buckets));
    let reload = |settings: &Settings| {
        served.replace(settings);
        outcome_buckets.replace(outcomes::involved(settings, &connected, &outcome_buckets));
        defined.reload(settings, |all| lanes.replace(settings, all));
        connected.report_denials(buckets::places(settings, |name| lanes.wanted.matches(name.as_str())));
        Ok(())
    };
    service_manager::ready(stop.clone());
    start_memory::end_later();
    memory::warn(settings, &connected.max_memory);
    let draining = async {
        stop.cancelled().await;
        health.drain();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = processor.run(configured, stop.clone()) => {}
        () = draining => {}
        never = after_start(outcomes::hand_over(&outcome_buckets)) => match never {},
        never = reloading.forever(reload) => match never {},
        never = defined.keep_following() => match never {},
    }
    traces.end().await;
    drained.cancel();
    health_server.await.map_err(anyhow::Error::from)??;
    tracing::info!("the processor has stopped");
    Ok(())
}

/// The sum of the configured concurrency of the buckets in `served`.
fn total_concurrency(settings: &Settings, served: &BucketSet) -> usize {
    let served = settings.buckets.iter().filter(|(name, _)| served.matches(name.as_str()));
    let calls = served.map(|(_, bucket)| bucket.settings(Durability::Process).leak.concurrency);
    calls.map(|calls| usize::try_from(calls).unwrap_or(usize::MAX)).fold(0, usize::saturating_add)
}

/// The buckets that a processor serves, each with its lane.
struct ProcessorLanes {
    wanted: BucketSet,
    connected: Connected,
    served: ServedBuckets,
    buckets: Arc<Buckets>,
    processor: Processor,
}

impl ProcessorLanes {
    /// The configured buckets that this processor serves, with their upstreams.
    fn configured(&self, settings: &Settings) -> Vec<(Bucket, Upstream)> {
        let wanted = |name: &BucketName| self.wanted.matches(name.as_str());
        let buckets = buckets::configured(settings, wanted, &self.connected, &self.buckets);
        self.buckets.change(&buckets, &[]);
        let lane = |bucket: Bucket| {
            let upstream = settings.buckets.get(bucket.name())?.upstream.clone();
            Some((bucket, upstream))
        };
        buckets.into_iter().filter_map(lane).collect()
    }

    fn lane(&self, defined: &DefinedBucket) -> (Bucket, Upstream) {
        (buckets::defined(defined, &self.connected, &self.buckets), defined.configured.upstream.clone())
    }

    fn is_wanted(&self, defined: &DefinedBucket) -> bool {
        self.wanted.matches(defined.definition.bucket.as_str())
    }

    /// Replaces all lanes.
    fn replace(&self, settings: &Settings, all: &AllDefined) {
        let defined = all.served.values().filter(|defined| self.is_wanted(defined)).map(|defined| self.lane(defined));
        let mut lanes: Vec<(Bucket, Upstream)> = defined.collect();
        lanes.extend(self.configured(settings));
        self.buckets.replace(lanes.iter().map(|(bucket, _)| bucket.clone()));
        self.served.define(all);
        self.processor.reconcile(lanes);
    }
}

impl ServeDefinedBuckets for Arc<ProcessorLanes> {
    fn change(&self, changed: &[Arc<DefinedBucket>], gone: &[BucketName], all: &AllDefined) {
        let changed = changed.iter().filter(|defined| self.is_wanted(defined)).map(|defined| self.lane(defined));
        let lanes: Vec<(Bucket, Upstream)> = changed.collect();
        let buckets: Vec<Bucket> = lanes.iter().map(|(bucket, _)| bucket.clone()).collect();
        self.buckets.change(&buckets, gone);
        self.served.define(all);
        self.processor.serve(lanes, gone);
    }
}
