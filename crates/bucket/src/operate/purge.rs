//! Purge: cancels all waiting and parked jobs.

use crate::bucket::Bucket;
use crate::define::deletion::suspend_bucket::LastJob;
use crate::error::BucketError;
use crate::script::constants::BATCH_JOBS;
use crate::script::scripts::Scripts;
use crate::settings::on_outcome::OnOutcome;

static SCRIPTS: Scripts = Scripts::of_kinds(
    "purge",
    include_str!("../kind/stream/remove/purge.lua"),
    include_str!("../kind/list/remove/purge.lua"),
);

impl Bucket {
    /// Cancels all jobs that wait or are parked when it begins. Jobs that are added later stay. Returns their number.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; what was cancelled until then stays cancelled.
    pub async fn purge(&self) -> Result<u64, BucketError> {
        self.redis_bucket.in_own_kind(|| self.purge_to(String::new())).await
    }

    /// Cancels the waiting and parked jobs up to `last`, the last job when the bucket was suspended.
    ///
    /// # Errors
    /// As [`Bucket::purge`].
    pub async fn purge_until(&self, LastJob(last): LastJob) -> Result<u64, BucketError> {
        if last.is_empty() { Ok(0) } else { self.purge_to(last).await }
    }

    /// `last`: the last job to be purged, as purge.lua takes it; empty for the last one in the bucket now.
    async fn purge_to(&self, last: String) -> Result<u64, BucketError> {
        let mut purged = 0;
        self.purge_in_parts(last, &mut purged).await.map_err(|error| error.after(purged))?;
        Ok(purged)
    }

    async fn purge_in_parts(&self, mut last: String, purged: &mut u64) -> Result<(), BucketError> {
        let settings = self.redis_bucket.settings();
        let keys = &self.redis_bucket.keys;
        let mut after = String::new();
        loop {
            let mut call = SCRIPTS.of(self.redis_bucket.kind).on(&keys.to_cancel(&OnOutcome::default()));
            call.arg(&last).arg(BATCH_JOBS).arg(settings.keep.packed()).arg(&after);
            let (count, rest, passed): (u64, String, String) = self.redis_bucket.store.run_durably(&call).await?;
            *purged += count;
            if rest.is_empty() {
                return Ok(());
            }
            (last, after) = (rest, passed);
        }
    }
}
