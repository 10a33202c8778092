use std::sync::Arc;
use std::time::Duration;

use dripfeed_job::{BucketName, Ending, JobId, Rate, State, Submission};
use dripfeed_store::Store;

use crate::admission::{Admission, Judgement};
use crate::admit::{self, Admissions};
use crate::asked::Origin;
use crate::await_outcome::{self, Lookups};
use crate::cancel::Cancel;
use crate::census::Census;
use crate::changes::Changes;
use crate::core::Core;
use crate::dead::{DeadFilter, DeadLetter, Replayed, ReplayedMany};
use crate::error::BucketError;
use crate::examine::Finding;
use crate::find::JobView;
use crate::limits::BucketLimits;
use crate::outcomes::{EndedJob, Report};
use crate::page::{Cursor, Page};
use crate::recover::Recovery;
use crate::replica::{Consumer, Life, Replica};
use crate::settings::BucketSettings;

/// A bounded queue in front of one upstream. Cheap to clone; lives in a tokio runtime.
#[derive(Clone)]
pub struct Bucket {
    core: Arc<Core>,
    name: BucketName,
    admissions: Admissions,
    lookups: Lookups,
}

impl Bucket {
    /// Nothing is asked of Redis yet.
    #[must_use]
    pub fn new(store: Store, settings: BucketSettings) -> Self {
        let name = settings.name.clone();
        let core = Arc::new(Core::new(store, settings));
        Self { admissions: admit::start(core.clone()), lookups: await_outcome::start(core.clone()), name, core }
    }

    #[must_use]
    pub const fn name(&self) -> &BucketName {
        &self.name
    }

    /// As configured; changes made at run time are told by the census.
    #[must_use]
    pub fn settings(&self) -> Arc<BucketSettings> {
        self.core.settings()
    }

    /// Other settings from now on; name, kind and key stay what they were.
    pub fn reconfigure(&self, settings: BucketSettings) {
        self.core.reconfigure(settings);
    }

    /// Judges submissions by these limits from now on, unless others were set at run time; what was consumed of a limit that
    /// stays is kept.
    pub fn limit_by(&self, limits: &BucketLimits) {
        self.core.limit_by(limits);
    }

    /// Checks limits, room, duplicates and deadline, and appends: in one script, together with what others submit meanwhile.
    pub async fn judge(&self, submission: Submission, origin: Arc<Origin>) -> Result<Judgement, BucketError> {
        self.core.refuse_unsupported(&submission)?;
        let asked = self.core.ask(submission, origin);
        self.admissions.put(asked).await.unwrap_or(Err(BucketError::Closing))
    }

    /// Each judged by itself, appended and answered in order.
    pub async fn judge_many(
        &self,
        submissions: Vec<Submission>,
        origin: Arc<Origin>,
    ) -> Vec<Result<Judgement, BucketError>> {
        let mut asked = Vec::with_capacity(submissions.len());
        let mut places = Vec::with_capacity(submissions.len());
        for submission in submissions {
            places.push(self.core.refuse_unsupported(&submission).map(|()| {
                asked.push(self.core.ask(submission, origin.clone()));
            }));
        }
        let mut judged = self.admissions.put_all(asked).await.into_iter();
        let mut next = || judged.next().flatten().unwrap_or(Err(BucketError::Closing));
        places.into_iter().map(|place| place.and_then(|()| next())).collect()
    }

    /// As `judge`, of unknown origin.
    pub async fn admit(&self, submission: Submission) -> Result<Admission, BucketError> {
        Ok(self.judge(submission, Arc::default()).await?.admission)
    }

    /// As `judge_many`, of unknown origin.
    pub async fn admit_many(&self, submissions: Vec<Submission>) -> Vec<Result<Admission, BucketError>> {
        let judged = self.judge_many(submissions, Arc::default()).await.into_iter();
        judged.map(|judged| judged.map(|judged| judged.admission)).collect()
    }

    pub async fn find(&self, id: JobId) -> Result<Option<JobView>, BucketError> {
        self.core.find(id).await
    }

    /// `state` None: all that is in the bucket, oldest first.
    pub async fn jobs(
        &self,
        state: Option<State>,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<JobView>, BucketError> {
        self.core.jobs(state, after, limit).await
    }

    pub async fn cancel(&self, id: JobId) -> Result<Cancel, BucketError> {
        self.core.cancel(id).await
    }

    pub async fn census(&self) -> Result<Census, BucketError> {
        self.core.census().await
    }

    /// Nothing leaks until `resume`; submissions are admitted until the bucket is full.
    pub async fn pause(&self) -> Result<(), BucketError> {
        self.core.pause(true).await
    }

    pub async fn resume(&self) -> Result<(), BucketError> {
        self.core.pause(false).await
    }

    /// Cancels all that waits or is parked; tells how many.
    pub async fn purge(&self) -> Result<u64, BucketError> {
        self.core.purge().await
    }

    /// In force at once, on all replicas and intakes, also for what is in the bucket.
    pub async fn change(&self, changes: &Changes) -> Result<(), BucketError> {
        self.core.change(changes).await
    }

    /// Oldest first.
    pub async fn dead_letters(
        &self,
        filter: &DeadFilter,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<DeadLetter>, BucketError> {
        self.core.dead_letters(filter, after, limit).await
    }

    /// By the id of the job that died.
    pub async fn dead_letter(&self, id: JobId) -> Result<Option<DeadLetter>, BucketError> {
        self.core.dead_letter(id).await
    }

    /// The letter becomes a new job, if there is room.
    pub async fn replay(&self, id: JobId) -> Result<Replayed, BucketError> {
        self.core.replay(id, Duration::ZERO).await
    }

    /// Those that match, oldest first, as far as there is room, at most at `rate`.
    pub async fn replay_many(&self, filter: &DeadFilter, rate: Option<Rate>) -> Result<ReplayedMany, BucketError> {
        self.core.replay_many(filter, rate).await
    }

    /// Whether there was such a letter.
    pub async fn delete_dead(&self, id: JobId) -> Result<bool, BucketError> {
        self.core.delete_dead(id).await
    }

    /// In the order in which the jobs ended.
    pub async fn outcomes(
        &self,
        since_ms: Option<u64>,
        ending: Option<Ending>,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<EndedJob>, BucketError> {
        self.core.outcomes(since_ms, ending, after, limit).await
    }

    /// Which invariants don't hold in Redis; with `mend`, they do afterwards, as far as that is possible. Reads every job.
    pub async fn examine(&self, mend: bool) -> Result<Vec<Finding>, BucketError> {
        self.core.examine(mend).await
    }

    /// What the ACL of Redis denies our user that this bucket needs, in the words of Redis; empty: nothing. None: before
    /// Redis 7.0, or without `+acl|whoami +acl|dryrun`, that can't be asked.
    pub async fn denied(&self) -> Result<Option<Vec<String>>, BucketError> {
        self.core.denied().await
    }

    pub async fn report(&self, window: Duration) -> Result<Report, BucketError> {
        self.core.report(window).await
    }

    /// None: it has not ended within the time.
    pub async fn await_outcome(&self, id: JobId, within: Duration) -> Result<Option<EndedJob>, BucketError> {
        await_outcome::wait(&self.lookups, id, within).await
    }

    /// For who knows that a replica is gone: its jobs are due at once for the others, not only after the lease. None: its
    /// heart beat meanwhile, so it lives and keeps its jobs.
    pub async fn declare_dead(&self, consumer: &Consumer) -> Result<Option<Recovery>, BucketError> {
        self.core.declare_dead(consumer.as_str()).await
    }

    /// Makes a process a member of the bucket's group; a silent member is believed alive for at most `lease`.
    pub async fn join(&self, consumer: Consumer, lease: Duration, life: Life) -> Result<Replica, BucketError> {
        self.core.clone().join(consumer, lease, life).await
    }
}
