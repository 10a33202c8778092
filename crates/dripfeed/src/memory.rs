//! Whether what the buckets may hold fits into the memory that Redis may take.

use dripfeed_bucket::INSTALLATION;
use dripfeed_store::{Durability, ServerInfo, Store, StoreError};

use crate::settings::Settings;

const MIB: u64 = 1 << 20;

/// What is wrong, and what to do about it; None: all fits.
pub(crate) async fn shortfall(settings: &Settings, store: &Store) -> Result<Option<String>, StoreError> {
    let mut limits = Vec::new();
    for server in store.masters() {
        limits.push(ServerInfo::gather(&server, Durability::Process).await?.max_memory);
    }
    let buckets = settings.buckets.values().map(|bucket| bucket.settings(Durability::Process).most_memory());
    Ok(missing(&limits, buckets.fold(INSTALLATION, u64::saturating_add)))
}

/// Logs it, where the roles start.
pub(crate) async fn warn(settings: &Settings, store: &Store) {
    // That Redis is away is reported by those who need it.
    if let Ok(Some(shortfall)) = shortfall(settings, store).await {
        tracing::warn!("{shortfall}");
    }
}

/// `limits`: the `maxmemory` of each server. `needed`: what all buckets together may take.
fn missing(limits: &[u64], needed: u64) -> Option<String> {
    let what_to_do = "raise maxmemory, or lower capacity, capacity_bytes and keep of the buckets";
    if limits.contains(&0) {
        let needed = needed.div_ceil(MIB);
        return Some(format!(
            "maxmemory isn't set, so Redis grows until it is killed; the buckets may take {needed} MiB: set it to at \
             least that"
        ));
    }
    let given = limits.iter().fold(0, |sum: u64, limit| sum.saturating_add(*limit));
    (given < needed).then(|| {
        let (given, needed) = (given / MIB, needed.div_ceil(MIB));
        format!(
            "the buckets may take {needed} MiB and maxmemory is {given} MiB: when it is full, new jobs are \
            refused: {what_to_do}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_missing_where_the_buckets_may_take_more_or_nothing_is_set() {
        assert_eq!(missing(&[100 << 20], 100 << 20), None);
        assert_eq!(missing(&[50 << 20, 50 << 20], 100 << 20), None);
        assert!(
            missing(&[100 << 20], (100 << 20) + 1)
                .is_some_and(|text| text.contains("take 101 MiB and maxmemory is 100 MiB"))
        );
        assert!(missing(&[0], 1).is_some_and(|text| text.contains("maxmemory isn't set")));
    }
}
