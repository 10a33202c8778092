//! Compares the maximum memory of the buckets with `maxmemory` of Redis.

use dripfeed_bucket::{INSTALLATION, memory_shortfall};
use dripfeed_job::size;
use dripfeed_store::Durability;

use crate::settings::Settings;

/// Returns the problem and its remedy, or `None` if Redis has enough memory. `limits`: `maxmemory` of each master.
pub(crate) fn shortfall(settings: &Settings, limits: &[u64]) -> Option<String> {
    let configured = settings.buckets.values().map(|bucket| bucket.settings(Durability::Process).most_memory());
    let configured = configured.fold(INSTALLATION, u64::saturating_add);
    if !settings.definitions.is_on() {
        return memory_shortfall(limits, configured);
    }
    let bounds = settings.definitions.define.bounds;
    let shortfall = memory_shortfall(limits, configured.saturating_add(bounds.memory()));
    let counted = format!("buckets created over the API count with define.bytes ({}) only", size::show(bounds.bytes));
    shortfall.map(|shortfall| format!("{shortfall}; {counted}"))
}

/// Logs the shortfall, if there is one.
pub(crate) fn warn(settings: &Settings, limits: &[u64]) {
    if let Some(shortfall) = shortfall(settings, limits) {
        tracing::warn!(shortfall, "Redis may have less memory than the buckets can use");
    }
}
