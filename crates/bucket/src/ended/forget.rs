//! Deletes dead letters permanently.

use dripfeed_job::JobId;
use dripfeed_store::Script;

use crate::bucket::Bucket;
use crate::ended::dead_letters::DeadFilter;
use crate::error::BucketError;
use crate::script::constants::BATCH_JOBS;
use crate::script::redis_bucket::RedisBucket;
use crate::script::scripts::SHARED;

static FORGET: Script = Script::new("forget", SHARED, include_str!("forget.lua"));

impl Bucket {
    /// Deletes a dead letter. Returns whether it existed.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn delete_dead(&self, id: JobId) -> Result<bool, BucketError> {
        let mut deleted = 0;
        self.redis_bucket.forget(&[id], &mut deleted).await?;
        Ok(deleted == 1)
    }

    /// Deletes all matching letters, and returns their number. Letters of jobs that die during the call stay.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; some may have been deleted.
    pub async fn delete_dead_many(&self, filter: &DeadFilter) -> Result<u64, BucketError> {
        let mut deleted = 0;
        self.redis_bucket.forget_all(filter, &mut deleted).await.map_err(|error| error.after(deleted))?;
        Ok(deleted)
    }
}

impl RedisBucket {
    async fn forget_all(&self, filter: &DeadFilter, deleted: &mut u64) -> Result<(), BucketError> {
        let (mut from, ending) = (filter.first(), filter.ending_with(self.newest_letter().await?));
        loop {
            let (ids, last) = self.dead_ids_between(filter, &from, &ending).await?;
            self.forget(&ids, deleted).await?;
            if last.is_empty() {
                return Ok(());
            }
            from = format!("({last}");
        }
    }

    async fn forget(&self, ids: &[JobId], deleted: &mut u64) -> Result<(), BucketError> {
        let mut rest = ids;
        while !rest.is_empty() {
            let mut call =
                FORGET.on(&[self.keys.dead(), self.keys.letters(), self.keys.letter_sizes(), self.keys.tally()]);
            for id in &rest[..rest.len().min(BATCH_JOBS)] {
                call.arg(id.to_string());
            }
            let (gone, looked_at): (u64, usize) = self.store.run_durably(&call).await?;
            *deleted += gone;
            // The script always reads the first one.
            rest = rest.get(looked_at.max(1)..).unwrap_or_default();
        }
        Ok(())
    }
}
