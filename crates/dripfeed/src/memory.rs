//! Compares the maximum memory of the buckets with `maxmemory` of Redis.

use dripfeed_bucket::{INSTALLATION, memory_shortfall};
use dripfeed_job::size;
use dripfeed_store::{Durability, ServerInfo, Store, StoreError};

use crate::settings::Settings;

/// What is wrong, and what to do about it; None: all fits.
pub(crate) async fn shortfall(settings: &Settings, store: &Store) -> Result<Option<String>, StoreError> {
    let mut limits = Vec::new();
    for server in store.masters() {
        limits.push(ServerInfo::gather(&server, Durability::Process).await?.max_memory);
    }
    let configured = settings.buckets.values().map(|bucket| bucket.settings(Durability::Process).most_memory());
    let configured = configured.fold(INSTALLATION, u64::saturating_add);
    if !settings.definitions.is_on() {
        return Ok(memory_shortfall(&limits, configured));
    }
    let bounds = settings.definitions.define.bounds;
    let shortfall = memory_shortfall(&limits, configured.saturating_add(bounds.memory()));
    let counted = format!("buckets created over the API count with define.bytes ({}) only", size::show(bounds.bytes));
    Ok(shortfall.map(|shortfall| format!("{shortfall}; {counted}")))
}

/// Logs it, where the roles start.
pub(crate) async fn warn(settings: &Settings, store: &Store) {
    // That Redis is away is reported by those who need it.
    if let Ok(Some(shortfall)) = shortfall(settings, store).await {
        tracing::warn!("{shortfall}");
    }
}
