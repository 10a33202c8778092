//! Outcome jobs that are larger than `capacity_bytes` of their target bucket. They wait until that is raised, and are
//! counted in each pass over the outbox, for metrics, the API and the doctor.

use dripfeed_job::BucketName;
use dripfeed_store::Script;

use super::rare_line::RareLine;
use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::script::scripts::SHARED;

static NOTE: Script = Script::new("note_oversized", SHARED, include_str!("note_oversized.lua"));

#[derive(Default)]
pub(super) struct Oversized {
    /// In this pass, so far.
    found: u64,
    /// What Redis has; None: another process may have written it.
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

    /// Another process goes over the outbox now.
    pub(super) const fn forget(&mut self) {
        (self.found, self.noted) = (0, None);
    }

    /// The outbox is empty.
    pub(super) async fn none(&mut self, from: &Bucket) -> Result<(), BucketError> {
        self.found = 0;
        self.note(from, true).await
    }

    /// At the end of a pass. One that isn't whole has seen some of them at least.
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
