//! The way to Redis at the start of a role: waited for, then looked at.

use std::time::{Duration, Instant};

use dripfeed_store::{Durability, Facts, RedisSettings, Severity, Store, StoreError, effective, findings};
use tokio_util::sync::CancellationToken;

use crate::exit::{Exit, Failure};

/// Services are started in any order: Redis may come after us.
const PATIENCE: Duration = Duration::from_secs(30);
const BETWEEN_TRIES: Duration = Duration::from_millis(500);
const BETWEEN_LINES: Duration = Duration::from_secs(5);

/// Redis, and what it gives.
#[derive(Clone)]
pub(crate) struct Connected {
    pub(crate) store: Store,
    /// The class that a 202 may name.
    pub(crate) durability: Durability,
}

/// None: told to stop before Redis was there.
///
/// # Errors
/// When it stays away, denies access, or can't keep jobs as configured.
pub(crate) async fn to_redis(settings: &RedisSettings, stop: &CancellationToken) -> Result<Option<Connected>, Failure> {
    let begun = Instant::now();
    let mut told = None;
    let (store, facts) = loop {
        match reach(settings).await {
            Ok(reached) => break reached,
            Err(error) if error.is_transient() && begun.elapsed() < PATIENCE => tell(&error, &mut told),
            Err(error) => return Err(error.into()),
        }
        tokio::select! {
            () = stop.cancelled() => return Ok(None),
            () = tokio::time::sleep(BETWEEN_TRIES) => {}
        }
    };
    let durability = durability_of(&store, &facts, settings.durability)?;
    Ok(Some(Connected { store, durability }))
}

async fn reach(settings: &RedisSettings) -> Result<(Store, Facts), StoreError> {
    let store = Store::connect(settings).await?;
    let facts = Facts::gather(&store).await?;
    Ok((store, facts))
}

/// Now and again.
fn tell(error: &StoreError, told: &mut Option<Instant>) {
    if told.is_none_or(|told| told.elapsed() >= BETWEEN_LINES) {
        *told = Some(Instant::now());
        let error: &dyn std::error::Error = error;
        tracing::warn!(error, "Redis isn't there yet; trying again for {} s in all", PATIENCE.as_secs());
    }
}

fn durability_of(store: &Store, facts: &Facts, configured: Durability) -> Result<Durability, Failure> {
    let mut errors = Vec::new();
    for finding in findings(facts, configured) {
        match finding.severity {
            Severity::Error => errors.push(format!("\n  {}: {}", finding.what, finding.what_to_do)),
            Severity::Warning => tracing::warn!("{}: {}", finding.what, finding.what_to_do),
        }
    }
    if !errors.is_empty() {
        let message = format!("{} at {} can't be used:{}", facts.product, store.address(), errors.concat());
        return Err(Failure::new(Exit::Configuration, message));
    }
    let effective = effective(configured, facts).map_err(|shortfall| Failure::of(Exit::Configuration, shortfall))?;
    tracing::info!(redis = %store.address(), durability = %effective.class, "connected to {}", facts.product);
    Ok(effective.class)
}
