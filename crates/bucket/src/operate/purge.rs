//! Purge: cancels all that waits or is parked.

use crate::error::BucketError;
use crate::script::constants::BATCH_JOBS;
use crate::script::redis_bucket::Core;
use crate::script::scripts::Scripts;

static SCRIPTS: Scripts =
    Scripts::of_kinds("purge", include_str!("../kind/stream/purge.lua"), include_str!("../kind/list/purge.lua"));

impl Core {
    /// What comes in after it began stays, however long it runs.
    pub(crate) async fn purge(&self) -> Result<u64, BucketError> {
        let settings = self.settings();
        let keys = &self.keys;
        let mut purged = 0;
        let mut last = String::new();
        loop {
            let mut call = SCRIPTS.of(self.kind).on(&keys.to_cancel());
            call.arg(&last).arg(BATCH_JOBS).arg(settings.keep.packed());
            let (count, rest): (u64, String) = self.store.run_durably(&call).await?;
            purged += count;
            if rest.is_empty() {
                return Ok(purged);
            }
            last = rest;
        }
    }
}
