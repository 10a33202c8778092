//! What a list doesn't support, and searching a list for a job.

use dripfeed_job::{Priority, Start, Submission};

use crate::error::BucketError;
use crate::script::keys::Keys;
use crate::script::redis_bucket::{RedisBucket, WaitFor};
use crate::script::reply::Reply;
use crate::script::scripts::Scripts;
use crate::settings::Kind;

/// A list can't park, so it has no delay and no second attempt; and all of it is one line.
pub(crate) fn refuse_unsupported(submission: &Submission) -> Result<(), BucketError> {
    if submission.start != Start::AtOnce {
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
    /// Who takes jobs from a list, or did and still holds some.
    pub(crate) async fn takers(&self) -> Result<Vec<String>, BucketError> {
        let mut names = redis::cmd("HKEYS");
        names.arg(self.keys.takers());
        Ok(self.store.command(&names).await?)
    }

    /// What each of them holds.
    pub(crate) async fn taken_lists(&self) -> Result<Vec<ListScan>, BucketError> {
        let takers = self.takers().await?;
        Ok(takers.into_iter().map(|consumer| ListScan::of_taken(&self.keys, consumer)).collect())
    }
}

/// One of a list bucket's lists, looked through from its newest element to its oldest, a bounded part in each script.
///
/// What comes to its head meanwhile moves those that were seen further, and they are seen again. What ends may go from
/// the middle: by as many as ended meanwhile the next part begins earlier.
pub(crate) struct ListScan {
    list: String,
    /// Empty: nobody's.
    consumer: String,
    /// Elements behind the head; None at the end.
    at: Option<u64>,
    /// Jobs of the bucket that had ended.
    ended: Option<u64>,
}

/// The most that a part begins earlier: it always gets on.
const OVERLAP: u64 = 250;

impl ListScan {
    pub(crate) fn of_jobs(keys: &Keys) -> Self {
        Self { list: keys.jobs(), consumer: String::new(), at: Some(0), ended: None }
    }

    fn of_taken(keys: &Keys, consumer: String) -> Self {
        Self { list: keys.taken(&consumer), consumer, at: Some(0), ended: None }
    }

    /// Where the next script begins; None at the end.
    pub(crate) const fn at(&self) -> Option<u64> {
        self.at
    }

    /// What a script looked at: where to go on, and how many jobs have ended.
    pub(crate) fn looked(&mut self, reply: &mut Reply) -> Result<(), BucketError> {
        let (next, ended) = (reply.number()?, reply.count()?);
        let gone = ended.saturating_sub(self.ended.unwrap_or(ended)).min(OVERLAP);
        self.at = u64::try_from(next).ok().map(|next| next.saturating_sub(gone));
        self.ended = Some(ended);
        Ok(())
    }

    /// The answer of the next script; None at the end.
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
        self.looked(&mut reply)?;
        Ok(Some(reply))
    }
}
