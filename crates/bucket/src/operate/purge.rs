//! Purge: cancels all that waits or is parked.

use crate::error::BucketError;
use crate::script::redis_bucket::RedisBucket;
use crate::script::scripts::Scripts;

static SCRIPTS: Scripts =
    Scripts::of_kinds("purge", include_str!("../kind/stream/purge.lua"), include_str!("../kind/list/purge.lua"));

/// Jobs in one call.
const MOST: u64 = 500;

impl RedisBucket {
    /// What comes in after it began stays, however long it runs.
    pub(crate) async fn purge(&self) -> Result<u64, BucketError> {
        let settings = self.settings();
        let keys = &self.keys;
        let mut purged = 0;
        let mut last = String::new();
        loop {
            let mut call = SCRIPTS.of(self.kind).on(&keys.to_cancel());
            call.arg(&last).arg(MOST).arg(settings.keep.packed());
            let (count, rest): (u64, String) = self.store.run_durably(&call).await?;
            purged += count;
            if rest.is_empty() {
                return Ok(purged);
            }
            last = rest;
        }
    }
}
