//! Purge: cancels all that waits or is parked.

use std::sync::LazyLock;

use dripfeed_job::duration::ms_up;

use crate::core::Core;
use crate::error::BucketError;
use crate::scripts::{HOLDERS, METER, NOW, RECORD, Scripts};

static SCRIPTS: LazyLock<Scripts> = LazyLock::new(|| {
    Scripts::new("purge", |kind| vec![NOW, METER, HOLDERS, RECORD, kind.entry, kind.view, kind.purge])
});

/// Jobs in one call.
const MOST: u64 = 500;

impl Core {
    /// What comes in while it runs stays.
    pub(crate) async fn purge(&self) -> Result<u64, BucketError> {
        let settings = self.settings();
        let keys = &self.keys;
        let mut purged = 0;
        let mut last = String::new();
        loop {
            let common = vec![keys.jobs(), keys.meter(), keys.tally(), keys.outcomes(), keys.ended(), keys.holders()];
            let mut call = SCRIPTS.of(self.kind).on(&keys.and_parked(common));
            call.arg(&last).arg(MOST).arg(ms_up(settings.keep.outcomes)).arg(settings.keep.most_outcomes);
            let (count, rest): (u64, String) = self.store.run_durably(&call).await?;
            purged += count;
            if rest.is_empty() {
                return Ok(purged);
            }
            last = rest;
        }
    }
}
