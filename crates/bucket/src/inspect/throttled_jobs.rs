//! Counts the jobs that wait for the limits of their caller or group.

use std::time::Duration;

use dripfeed_store::Script;

use crate::error::BucketError;
use crate::inspect::census::SOON;
use crate::script::redis_bucket::{RedisBucket, WaitFor};
use crate::script::scripts::STREAM;

static SCRIPT: Script = Script::new("throttled_jobs", STREAM, include_str!("throttled_jobs.lua"));

impl RedisBucket {
    /// Counts waiting jobs that can't use a slot soon, however many processors there are; estimated from the first
    /// flows. 0 if no caller has a limit. `length`: the duration of a call, with headroom.
    pub(super) async fn throttled_jobs(&self, length: Duration) -> Result<u64, BucketError> {
        if self.effective_settings().bounds.is_empty() {
            return Ok(0);
        }
        let (_, mut reply) = self
            .run_with_settings("throttled_jobs", WaitFor::Reply, |effective| {
                let known: Vec<_> = [self.keys.control()].into_iter().chain(self.keys.in_order()).collect();
                let mut call = SCRIPT.on(&known);
                // The settings may have changed since the check above, so that no caller has a limit any more.
                let bounds = if effective.bounds.is_empty() { r#"{"each":{},"of":{}}"# } else { &effective.bounds };
                call.arg(&effective.version).arg(bounds).arg(SOON.as_micros()).arg(length.as_micros());
                call
            })
            .await?;
        reply.count()
    }
}
