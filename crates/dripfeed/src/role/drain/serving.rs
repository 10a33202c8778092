//! Serves a bucket with its old settings, without accepting jobs, until it is empty.

mod contents;

use std::sync::Arc;
use std::time::{Duration, Instant};

use dripfeed_bucket::{Bucket, BucketError, BucketPlace, Buckets, Census};
use dripfeed_processor::{Connector, Processor, Upstream};
use dripfeed_store::Durability;
use tokio_util::sync::CancellationToken;

use self::contents::{Contents, report};
use super::guard::{self, OtherServers};
use super::{Arguments, RegisteredPlaces, interrupted, leave, rest, unknown};
use crate::exit::{Exit, Failure};
use crate::open_files;
use crate::role::connect::Connected;
use crate::role::served::described;
use crate::role::{buckets, outcomes};
use crate::settings::Settings;
use crate::telemetry::Traces;

const POLL_INTERVAL: Duration = Duration::from_millis(200);
const LOG_INTERVAL: Duration = Duration::from_secs(10);

pub(super) async fn run(
    arguments: &Arguments,
    settings: &Settings,
    connected: &Connected,
    stop: &CancellationToken,
) -> Result<(), Failure> {
    let (store, name) = (&connected.store, &arguments.bucket);
    let Some(configured) = settings.buckets.get(name) else {
        let what_to_do = "use the configuration that had it (-c OLD.toml), or move its jobs with --into OTHER";
        return Err(unknown(store, name, what_to_do).await?);
    };
    let place = BucketPlace::from(&configured.settings(Durability::Process));
    match guard::others_at(store, &place, stop).await? {
        OtherServers::Gone => {}
        OtherServers::Serve => return Err(guard::in_use(store, &place)),
        OtherServers::Unknown => return Err(interrupted("nothing was delivered")),
    }
    guard::refuse_namesakes(store, &place).await?;
    let bucket = Bucket::new(store.clone(), configured.settings(connected.durability));
    let before = Contents::of(&bucket).await?;
    if before.is_empty() {
        leave(&bucket).await?;
        return report(arguments, &before, &before, &described(&place, store));
    }
    if before.census.paused && !arguments.resume {
        let message = format!("{} is paused; use --resume", described(&place, store));
        return Err(Failure::new(Exit::RefusedForNow, message));
    }
    let noting = RegisteredPlaces::begin(store, vec![place.clone()]).await?;
    let after = drain(&bucket, &before, &configured.upstream, settings, connected, stop).await;
    noting.end(std::slice::from_ref(&place)).await;
    let after = after?;
    // Not after an interruption: the bucket may be configured again, and then needs its schedules.
    if after.is_empty() {
        leave(&bucket).await?;
    }
    report(arguments, &before, &after, &described(&place, store))
}

/// Runs a processor for this bucket until it is empty.
async fn drain(
    bucket: &Bucket,
    before: &Contents,
    upstream: &Upstream,
    settings: &Settings,
    connected: &Connected,
    stop: &CancellationToken,
) -> Result<Contents, Failure> {
    bucket.resume().await?;
    for found in bucket.repair_jobs().await? {
        let (bucket, count, what) = (bucket.name(), found.count, found.kind.what());
        tracing::warn!(%bucket, what, count, "repaired before the drain");
    }
    let concurrency = bucket.settings().leak.concurrency;
    open_files::raise_for("the concurrency of the bucket", usize::try_from(concurrency).unwrap_or(usize::MAX));
    let connector = Connector::new().map_err(anyhow::Error::from)?;
    let traces = Traces::start(settings.trace.as_ref(), "drain")?;
    let (processor_settings, mut registry) = (settings.processor.settings.clone(), crate::role::registry());
    let processor = Processor::new(processor_settings, connector, traces.tracer(), &mut registry);
    let done = stop.child_token();
    let emptied = async {
        let result = wait_until_empty(bucket, &done).await;
        done.cancel();
        result
    };
    let lanes = vec![(bucket.clone(), upstream.clone())];
    let outcome_buckets = Arc::new(Buckets::default());
    outcome_buckets.replace(match before.outcome_jobs {
        0 => outcomes::involved(settings, connected, &outcome_buckets),
        // Earlier settings may have had any bucket as the target.
        _ => buckets::configured(settings, |_| true, connected, &outcome_buckets),
    });
    let drained = async { tokio::join!(emptied, processor.run(lanes, done.clone())).0 };
    let result = tokio::select! {
        result = drained => result,
        never = outcomes::hand_over(&outcome_buckets) => match never {},
    };
    traces.end().await;
    result?;
    Ok(Contents::of(bucket).await?)
}

/// Waits until the bucket has no jobs and no outcome jobs, or until `stop`.
async fn wait_until_empty(bucket: &Bucket, stop: &CancellationToken) -> Result<(), Failure> {
    let mut last_logged = Instant::now();
    loop {
        match Contents::of(bucket).await {
            Ok(contents) if contents.is_empty() => return Ok(()),
            Ok(contents) if last_logged.elapsed() >= LOG_INTERVAL => {
                last_logged = Instant::now();
                log_progress(bucket, &contents);
            }
            Ok(_) => {}
            // The processor logs that Redis is unreachable.
            Err(BucketError::Store(error)) if error.is_transient() => {}
            Err(error) => return Err(error.into()),
        }
        if rest(POLL_INTERVAL, stop).await.is_none() {
            return Ok(());
        }
    }
}

fn log_progress(bucket: &Bucket, Contents { census, outcome_jobs }: &Contents) {
    let (bucket, Census { level, in_flight, parked, .. }) = (bucket.name(), census);
    match census.pace.reason {
        "dead_full" => tracing::warn!(
            %bucket, level,
            "dead letters are at their maximum: raise keep.most_dead or keep.dead_bytes in the drain's configuration, \
             or set keep.when_dead_full = \"drop_oldest\" there, and drain again"
        ),
        "outbox_full" => tracing::warn!(
            %bucket, level,
            "outcome jobs wait until the targets of on_outcome have room; check that these buckets are served"
        ),
        "paused" => tracing::warn!(%bucket, level, "the bucket is paused; drain it with --resume"),
        _ => tracing::info!(%bucket, level, in_flight, parked, outcome_jobs, "draining"),
    }
}
