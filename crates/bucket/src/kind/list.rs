//! List buckets: options that they don't support, and the scan of a list for a job.

use dripfeed_job::{Priority, StartTime, Submission};

use crate::error::BucketError;
use crate::script::keys::Keys;
use crate::script::redis_bucket::{RedisBucket, WaitFor};
use crate::script::reply::Reply;
use crate::script::scripts::Scripts;
use crate::settings::Kind;

/// Refuses delays and retries, because a list can't park jobs, and priorities and groups, because it has no flows.
pub(crate) fn refuse_unsupported(submission: &Submission) -> Result<(), BucketError> {
    if submission.start != StartTime::AtOnce {
        return Err(BucketError::Unsupported("delayed jobs"));
    }
    if submission.priority.is_some_and(|priority| priority != Priority::Normal) {
        return Err(BucketError::Unsupported("priorities"));
    }
    if submission.group.is_some() {
        return Err(BucketError::Unsupported("fair queuing by group"));
    }
    if submission.retries.unwrap_or(0) > 0 {
        return Err(BucketError::Unsupported("retries"));
    }
    Ok(())
}

impl RedisBucket {
    /// The consumers that take jobs from a list, or still have jobs of it.
    pub(crate) async fn takers(&self) -> Result<Vec<String>, BucketError> {
        let mut names = redis::cmd("HKEYS");
        names.arg(self.keys.takers());
        Ok(self.store.command(&names).await?)
    }

    /// The lists of jobs that consumers have claimed.
    pub(crate) async fn taken_lists(&self) -> Result<Vec<ListScan>, BucketError> {
        let takers = self.takers().await?;
        Ok(takers.into_iter().map(|consumer| ListScan::of_taken(&self.keys, consumer)).collect())
    }
}

/// A scan of one of a list bucket's lists, from its newest element to its oldest, a bounded part in each script.
///
/// The list changes between the parts. Elements that are added at the head move the others further, so some are seen
/// twice. Jobs that end may be removed from the middle: the next part begins earlier by their number.
pub(crate) struct ListScan {
    list: String,
    /// The consumer that has claimed the elements; empty for the list of waiting jobs.
    consumer: String,
    /// The index of the next element, from the head. `None` at the end.
    at: Option<u64>,
    /// The bucket's number of ended jobs at the last part.
    ended: Option<u64>,
}

/// The maximum by which a part begins earlier, so that each part makes progress.
const MAX_OVERLAP: u64 = 250;

impl ListScan {
    pub(crate) fn of_jobs(keys: &Keys) -> Self {
        Self { list: keys.jobs(), consumer: String::new(), at: Some(0), ended: None }
    }

    fn of_taken(keys: &Keys, consumer: String) -> Self {
        Self { list: keys.taken(&consumer), consumer, at: Some(0), ended: None }
    }

    /// The index at which the next part begins. `None` at the end.
    pub(crate) const fn at(&self) -> Option<u64> {
        self.at
    }

    /// Reads where to continue from a script's reply.
    pub(crate) fn advance(&mut self, reply: &mut Reply) -> Result<(), BucketError> {
        let (next, ended) = (reply.number()?, reply.count()?);
        let gone = ended.saturating_sub(self.ended.unwrap_or(ended)).min(MAX_OVERLAP);
        self.at = u64::try_from(next).ok().map(|next| next.saturating_sub(gone));
        self.ended = Some(ended);
        Ok(())
    }

    /// Scans the next part. Returns `None` at the end.
    pub(crate) async fn next(
        &mut self,
        redis_bucket: &RedisBucket,
        scripts: &'static Scripts,
        args: &[&str],
    ) -> Result<Option<Reply>, BucketError> {
        let Some(at) = self.at else { return Ok(None) };
        let mut call = scripts.of(Kind::List).on(&[redis_bucket.keys.tally(), self.list.clone()]);
        call.arg(at).arg(&self.consumer).arg(args);
        let (_, mut reply) = redis_bucket.read("look", &call, WaitFor::Reply).await?;
        self.advance(&mut reply)?;
        Ok(Some(reply))
    }
}
