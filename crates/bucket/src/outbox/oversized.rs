//! Outcome jobs that are larger than `capacity_bytes` of their target bucket. They wait until `capacity_bytes` is
//! raised. Each pass over the outbox counts them, for metrics, the API and the doctor.

use dripfeed_job::BucketName;
use dripfeed_store::Script;

use super::rare_line::RareLine;
use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::scripts::SHARED;

static NOTE: Script = Script::new("note_oversized", SHARED, include_str!("note_oversized.lua"));

#[derive(Default)]
pub(super) struct Oversized {
    /// Those found in this pass so far.
    found: u64,
    /// The number stored in Redis. `None` if another process may have written it.
    noted: Option<u64>,
    warning: RareLine,
}

impl Oversized {
    pub(super) fn add(&mut self, from: &BucketName, found: &[BucketName]) {
        self.found += found.len() as u64;
        if let Some(to) = found.first()
            && self.warning.is_due()
        {
            tracing::warn!(
                bucket = %from, %to,
                "outcome jobs are larger than the capacity_bytes of their target bucket and wait in the outbox; raise \
                    capacity_bytes, or delete them from the outbox"
            );
        }
    }

    /// To be called when another process has the lease of the outbox.
    pub(super) const fn forget(&mut self) {
        (self.found, self.noted) = (0, None);
    }

    /// To be called when the outbox is empty.
    pub(super) async fn none(&mut self, from: &Bucket) -> Result<(), BucketError> {
        self.found = 0;
        self.note(from, true).await
    }

    /// Stores the number at the end of a pass. A pass that didn't reach the last entry can only raise it.
    pub(super) async fn note(&mut self, from: &Bucket, is_whole: bool) -> Result<(), BucketError> {
        let found = std::mem::take(&mut self.found);
        let is_news = if is_whole { self.noted != Some(found) } else { found > self.noted.unwrap_or(0) };
        if is_news {
            let bucket = &from.redis_bucket;
            let mut call = NOTE.on(&[bucket.keys.tally()]);
            call.arg(found);
            bucket.store.run::<u64>(&call).await?;
            self.noted = Some(found);
        }
        Ok(())
    }
}
