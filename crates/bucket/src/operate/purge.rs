//! Purge: cancels all that waits or is parked.

use std::sync::LazyLock;

use crate::error::BucketError;
use crate::script::budget::BUDGET;
use crate::script::redis_bucket::Core;
use crate::script::scripts::{AT_MAXMEMORY, BYTES, HOLDERS, METER, NOTICES, NOW, RECORD, Scripts};

static SCRIPTS: LazyLock<Scripts> = LazyLock::new(|| {
    Scripts::new("purge", |kind| {
        let shared = [AT_MAXMEMORY, NOW, BUDGET, METER, HOLDERS, NOTICES, BYTES, RECORD];
        [&shared[..], &[kind.entry, kind.view, kind.leave, kind.purge]].concat()
    })
});

/// Jobs in one call.
const MOST: u64 = 500;

impl Core {
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
