//! Purge: cancels all that waits or is parked.

use std::sync::LazyLock;

use dripfeed_job::duration::ms_up;
use dripfeed_store::Script;

use crate::core::Core;
use crate::error::BucketError;
use crate::scripts::{METER, NOW, RECORD};

static SCRIPT: LazyLock<Script> =
    LazyLock::new(|| Script::new("purge", &[NOW, METER, RECORD, include_str!("purge.lua")]));

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
            let mut call = SCRIPT.on(&[
                keys.jobs(),
                keys.parked(),
                keys.meter(),
                keys.tally(),
                keys.attempts(),
                keys.outcomes(),
                keys.ended(),
            ]);
            call.arg(&last).arg(MOST).arg(ms_up(settings.keep.outcomes)).arg(settings.keep.most_outcomes);
            let (count, rest): (u64, String) = self.store.run(&call).await?;
            purged += count;
            if rest.is_empty() {
                return Ok(purged);
            }
            last = rest;
        }
    }
}
