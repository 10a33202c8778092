//! `dripfeed processor`: HTTP out.

use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::{Bucket, Buckets};
use dripfeed_intake::{BucketSet, ConnectionLimits, Gauges, Health, health};
use dripfeed_processor::{Connector, Processor, Upstream};
use tokio_util::sync::CancellationToken;

use super::connect::{self, Connected};
use super::reload::Reloading;
use super::{Arguments, buckets, listen};
use crate::exit::Failure;
use crate::settings::{Layers, Settings};
use crate::telemetry::Log;

/// Of the listener for health and metrics: few ask, and briefly.
const LIMITS: ConnectionLimits = ConnectionLimits {
    most: 64,
    head_timeout: Duration::from_secs(10),
    stall_timeout: Duration::from_secs(10),
    drain: Duration::from_millis(500),
};

/// Runs until SIGTERM, then drains.
///
/// # Errors
/// When it can't start.
pub(crate) async fn run(arguments: Arguments, layers: Layers) -> Result<(), Failure> {
    let settings = Settings::load(&layers)?;
    let log = Log::start(&settings.log);
    let stop = arguments.stop()?;
    let reloading = Reloading::new(layers, settings, log)?;
    let settings = &reloading.settings;
    let Some(connected) = connect::to_redis(&settings.redis, &stop).await? else { return Ok(()) };
    let mut registry = super::registry();
    let buckets = Arc::new(Buckets::default());
    let gauges = Gauges::register(Arc::clone(&buckets), &mut registry);
    let connector = Connector::new().map_err(anyhow::Error::from)?;
    let processor = Processor::new(settings.processor.settings.clone(), connector, &mut registry);
    let health = Health::new(connected.store.clone(), gauges, Arc::new(registry));
    let listener = listen("processor.listen", settings.processor.listen).await?;
    tracing::info!("listening on http://{}", listener.local_addr()?);

    // Told of until the last job is settled, so that an operator sees it drain.
    let drained = CancellationToken::new();
    let telling =
        tokio::spawn(dripfeed_intake::serve(listener, health::router(health.clone()), LIMITS, drained.clone()));
    let served = settings.processor.buckets.clone();
    let lanes = |settings: &Settings| lanes(settings, &served, &connected, &buckets);
    let first = lanes(settings);
    let reload = |settings: &Settings| processor.reconcile(lanes(settings));
    let draining = async {
        stop.cancelled().await;
        health.drain();
        std::future::pending::<()>().await;
    };
    tokio::select! {
        () = processor.run(first, stop.clone()) => {}
        () = draining => {}
        never = reloading.forever(reload) => match never {},
    }
    drained.cancel();
    telling.await.map_err(anyhow::Error::from)??;
    tracing::info!("the processor has ended");
    Ok(())
}

/// The buckets that this replica serves, and where their jobs go.
fn lanes(settings: &Settings, served: &BucketSet, connected: &Connected, running: &Buckets) -> Vec<(Bucket, Upstream)> {
    let served = |name: &_| match served {
        BucketSet::All => true,
        BucketSet::Named(names) => names.contains(name),
    };
    running.replace(buckets::configured(settings, served, connected, running));
    let lane = |bucket: &Bucket| Some((bucket.clone(), settings.buckets.get(bucket.name())?.upstream.clone()));
    running.all().values().filter_map(lane).collect()
}
