//! Empties the outbox of a bucket that no process serves: moves its outcome jobs to their target buckets, which must be
//! configured or have been created over the API.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dripfeed_bucket::{Bucket, Buckets, KnownDefinitions, OutboxRelay, OutboxTargets};
use dripfeed_job::BucketName;
use tokio_util::sync::CancellationToken;

use super::rest;
use crate::exit::{Exit, Failure};
use crate::role::buckets;
use crate::role::connect::Connected;
use crate::role::defined::DefinedBucket;
use crate::settings::Settings;

/// How long to wait for the lease of the outbox, which a killed process keeps for a few seconds.
const PATIENCE: Duration = Duration::from_secs(10);
const POLL_INTERVAL: Duration = Duration::from_millis(500);
const LOG_INTERVAL: Duration = Duration::from_secs(10);

pub(super) struct Outbox {
    courier: OutboxRelay,
    targets: Buckets,
    /// The number of outcome jobs at the start.
    jobs: u64,
}

/// The numbers of outcome jobs that were moved, and that are left.
#[derive(Clone, Copy, Default)]
pub(super) struct Delivered {
    pub(super) handed_over: u64,
    pub(super) left: u64,
}

impl Delivered {
    /// Returns whether there were any outcome jobs.
    pub(super) const fn is_some(self) -> bool {
        self.handed_over + self.left > 0
    }
}

impl Outbox {
    /// Checks that the outbox can be emptied, without changing it. Returns `None` if it has no outcome jobs.
    ///
    /// # Errors
    /// When it can't be emptied: a target is unknown here, an entry can't be read, or another process empties it.
    pub(super) async fn open(
        from: Bucket,
        settings: &Settings,
        connected: &Connected,
        stop: &CancellationToken,
    ) -> Result<Option<Self>, Failure> {
        let (name, courier) = (from.name().clone(), OutboxRelay::new(from));
        let Some(waiting) = count(&courier, stop).await? else {
            let message = format!("another process moves the outcome jobs of `{name}`: stop it, and drain again");
            return Err(Failure::new(Exit::RefusedForNow, message));
        };
        if waiting.unreadable > 0 {
            let others = waiting.unreadable;
            let message = format!("entries in the outbox of `{name}` that aren't outcome jobs: {others}; delete them");
            return Err(Failure::new(Exit::Failure, message));
        }
        let targets = targets(&waiting, settings, connected).await?;
        refuse_unknown(&name, &waiting, &targets)?;
        let jobs = waiting.jobs.values().sum();
        Ok((jobs > 0).then_some(Self { courier, targets, jobs }))
    }

    /// Moves the outcome jobs until none is left, or until `stop`. Waits for targets that are full.
    ///
    /// # Errors
    /// When Redis can't be asked.
    pub(super) async fn hand_over(&mut self, stop: &CancellationToken) -> Result<Delivered, Failure> {
        let mut last_logged = Instant::now();
        loop {
            let left = self.courier.from().outcome_jobs().await?;
            if left == 0 || stop.is_cancelled() {
                return Ok(Delivered { handed_over: self.jobs.saturating_sub(left), left });
            }
            if last_logged.elapsed() >= LOG_INTERVAL {
                last_logged = Instant::now();
                let bucket = self.courier.from().name();
                tracing::info!(%bucket, left, "moving outcome jobs to their target buckets");
            }
            tokio::select! {
                () = self.courier.round(&self.targets) => {}
                () = stop.cancelled() => {}
            }
        }
    }
}

async fn count(courier: &OutboxRelay, stop: &CancellationToken) -> Result<Option<OutboxTargets>, Failure> {
    let begun = Instant::now();
    loop {
        let counted = courier.count().await?;
        if counted.is_some() || begun.elapsed() >= PATIENCE || rest(POLL_INTERVAL, stop).await.is_none() {
            return Ok(counted);
        }
    }
}

/// The buckets for which outcome jobs wait and that are known here.
async fn targets(waiting: &OutboxTargets, settings: &Settings, connected: &Connected) -> Result<Buckets, Failure> {
    let (wanted, running) = (|name: &BucketName| waiting.jobs.contains_key(name), Buckets::default());
    let mut all = buckets::configured(settings, wanted, connected, &running);
    let mut known = KnownDefinitions::default();
    known.follow(&connected.store).await?;
    for definition in known.iter().filter(|definition| wanted(&definition.bucket)) {
        let bucket = &definition.bucket;
        let read = settings.definitions.read(bucket, &definition.definition, definition.sealed.as_deref());
        if let Ok(configured) = read
            && !settings.buckets.contains_key(bucket)
        {
            let defined = DefinedBucket { definition: Arc::clone(definition), configured };
            all.push(buckets::defined(&defined, connected, &running));
        }
    }
    Ok(Buckets::new(all))
}

fn refuse_unknown(bucket: &BucketName, waiting: &OutboxTargets, targets: &Buckets) -> Result<(), Failure> {
    let unknown: Vec<String> = waiting
        .jobs
        .iter()
        .filter(|(to, _)| targets.get(to.as_str()).is_none())
        .map(|(to, jobs)| format!("{jobs} outcome jobs for `{to}`"))
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let unknown = unknown.join(", ");
    let message = format!(
        "`{bucket}` has {unknown}, which this configuration doesn't have: deliver them with `dripfeed -c OLD drain \
            {bucket}`, where OLD is the configuration that had both buckets; nothing was moved"
    );
    Err(Failure::new(Exit::Configuration, message))
}
