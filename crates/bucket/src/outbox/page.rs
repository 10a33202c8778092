//! Reads the outbox, in pages.

use std::time::Duration;

use dripfeed_job::duration::ms_up;
use dripfeed_store::Script;
use redis::Value;

use super::outcome_job::OutcomeJob;
use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::inspect::count_each::count_each;
use crate::script::reply::Reply;
use crate::script::scripts::SHARED;

static NEXT: Script = Script::new("next_outcomes", SHARED, include_str!("next_outcomes.lua"));
static LEAVE: Script = Script::new("leave_outbox", SHARED, include_str!("leave_outbox.lua"));
static HANDED_OVER: Script = Script::new("handed_over", SHARED, include_str!("handed_over.lua"));

/// Entries in a page. Few, because each may contain the body of an answer.
pub(super) const PAGE: usize = 50;
/// How long no other process may move outcome jobs.
const LEASE: Duration = Duration::from_secs(3);

pub(super) enum NextOutcomes {
    None,
    /// Another process has the lease.
    Elsewhere,
    Page(Page),
}

pub(super) struct Page {
    /// How many entries were read.
    pub(super) read: usize,
    /// The id of the last entry. Empty if no entry was read.
    pub(super) last: String,
    pub(super) jobs: Vec<OutcomeJob>,
}

/// Returns [`Bucket::outcome_jobs`] of each bucket, 0 for a key that can't be read.
///
/// # Errors
/// When Redis can't be reached, or doesn't answer in time.
pub async fn outcome_jobs_of(buckets: &[Bucket]) -> Result<Vec<u64>, BucketError> {
    count_each(buckets, length_of).await
}

fn length_of(bucket: &Bucket) -> redis::Cmd {
    let mut length = redis::cmd("XLEN");
    length.arg(bucket.redis_bucket.keys.outbox());
    length
}

impl Bucket {
    /// Returns the number of outcome jobs in the outbox, including those written with earlier settings.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn outcome_jobs(&self) -> Result<u64, BucketError> {
        Ok(self.redis_bucket.store.command(&length_of(self)).await?)
    }

    /// Reads the entries behind `after`, and takes or renews the lease for the process `name`.
    pub(super) async fn next_outcomes(&self, name: &str, after: &str) -> Result<NextOutcomes, BucketError> {
        let (store, keys) = (&self.redis_bucket.store, &self.redis_bucket.keys);
        let mut call = NEXT.on(&[keys.outbox(), keys.outbox_lease()]);
        call.arg(name).arg(ms_up(LEASE)).arg(after).arg(PAGE);
        let mut reply = Reply::new("next_outcomes", store.run::<Value>(&call.with_large_reply()).await?)?;
        let waiting = reply.count()?;
        if reply.text()? != "1" {
            return Ok(if waiting == 0 { NextOutcomes::None } else { NextOutcomes::Elsewhere });
        }
        let mut page = Page { read: 0, last: String::new(), jobs: Vec::new() };
        while !reply.is_empty() {
            let mut entry = reply.array()?;
            let (id, fields) = (entry.text()?, entry.array()?.pairs()?);
            page.read += 1;
            page.last.clone_from(&id);
            match OutcomeJob::read(self.name(), id, &fields) {
                Some(job) => page.jobs.push(job),
                None => {
                    let (bucket, entry) = (self.name(), &page.last);
                    tracing::debug!(%bucket, %entry, "this outbox entry isn't an outcome job; delete it");
                }
            }
        }
        Ok(NextOutcomes::Page(page))
    }

    /// Ends the lease of this process, so that another one can continue at once.
    pub(super) async fn leave_outbox(&self, name: &str) -> Result<(), BucketError> {
        let (store, keys) = (&self.redis_bucket.store, &self.redis_bucket.keys);
        let mut call = LEAVE.on(&[keys.outbox_lease()]);
        call.arg(name);
        store.run::<u64>(&call).await?;
        Ok(())
    }

    /// Removes entries whose outcome jobs the target buckets have accepted.
    pub(super) async fn remove_outcomes(&self, entries: &[String]) -> Result<(), BucketError> {
        if entries.is_empty() {
            return Ok(());
        }
        let (store, keys) = (&self.redis_bucket.store, &self.redis_bucket.keys);
        let mut call = HANDED_OVER.on(&[keys.outbox(), keys.tally()]);
        call.arg(entries);
        store.run::<u64>(&call).await?;
        Ok(())
    }
}
