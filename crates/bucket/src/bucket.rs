use std::sync::Arc;
use std::time::Duration;

use dripfeed_job::{BucketName, Ending, JobId, JobState, Rate, Submission};
use dripfeed_store::{Durability, Store};

use crate::admission::admission_request::{AdmissionRequest, Origin};
use crate::admission::admit::{self, Admissions};
use crate::admission::{Admission, Judgement, MAX_SHARE};
use crate::deliver::recover::Recovery;
use crate::deliver::replica::{Consumer, Life, Replica};
use crate::ended::await_outcome::OutcomeWaiters;
use crate::ended::dead_letters::{DeadFilter, DeadLetter, Replayed, ReplayedMany};
use crate::ended::outcomes::{EndedJob, Report};
use crate::ended::retention::Retention;
use crate::error::BucketError;
use crate::inspect::census::Census;
use crate::inspect::doctor::{Examination, Finding};
use crate::inspect::find::JobView;
use crate::inspect::pagination::{Cursor, Page};
use crate::operate::cancel::Cancel;
use crate::script::redis_bucket::RedisBucket;
use crate::settings::BucketSettings;
use crate::settings::limits::BucketLimits;
use crate::settings::overrides::Overrides;

/// A bounded queue in front of one upstream. Cheap to clone; lives in a tokio runtime.
#[derive(Clone)]
pub struct Bucket {
    redis_bucket: Arc<RedisBucket>,
    name: BucketName,
    admissions: Admissions,
    outcome_waiters: OutcomeWaiters,
}

impl Bucket {
    /// Nothing is asked of Redis yet.
    #[must_use]
    pub fn new(store: Store, settings: BucketSettings) -> Self {
        let name = settings.name.clone();
        let redis_bucket = Arc::new(RedisBucket::new(store, settings));
        Self {
            admissions: admit::start(redis_bucket.clone()),
            outcome_waiters: OutcomeWaiters::new(redis_bucket.clone()),
            name,
            redis_bucket,
        }
    }

    #[must_use]
    pub const fn name(&self) -> &BucketName {
        &self.name
    }

    /// As configured; changes made at run time are reported by the census.
    #[must_use]
    pub fn settings(&self) -> Arc<BucketSettings> {
        self.redis_bucket.settings()
    }

    /// What an admitted job survives, by what Redis was last found to give.
    #[must_use]
    pub fn durability(&self) -> Durability {
        self.redis_bucket.store.durability()
    }

    /// Other settings from now on; name, kind and key stay what they were.
    pub fn reconfigure(&self, settings: BucketSettings) {
        self.redis_bucket.reconfigure(settings);
    }

    /// Judges submissions by these limits from now on, unless others were set at run time; what was consumed of a limit
    /// that stays is kept.
    pub fn limit_by(&self, limits: &BucketLimits) {
        self.redis_bucket.limit_by(limits);
    }

    /// Whether submissions are judged by a limit of this name, [`crate::MAX_SHARE`] included, as far as this process
    /// knows.
    #[must_use]
    pub fn is_limited_by(&self, name: &str) -> bool {
        let effective = self.redis_bucket.effective_settings();
        match name {
            MAX_SHARE => effective.settings.max_share.is_some(),
            _ => effective.limits.policies().iter().any(|policy| policy.id().as_str() == name),
        }
    }

    /// Checks limits, room, duplicates and deadline, and appends: in one script, together with what others submit
    /// meanwhile.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time: then
    /// [`StoreError::certainty`](dripfeed_store::StoreError::certainty) says whether the job may be stored. For a
    /// submission that this kind of bucket can't do, and while the process ends.
    pub async fn judge(&self, submission: Submission, origin: Arc<Origin>) -> Result<Judgement, BucketError> {
        self.redis_bucket.refuse_unsupported(&submission)?;
        let request = self.redis_bucket.admission_request(submission, origin).await?;
        self.admissions.put(request).await.unwrap_or(Err(BucketError::Closing))
    }

    /// Each judged on its own, appended and answered in order.
    pub async fn judge_many(
        &self,
        submissions: Vec<Submission>,
        origin: Arc<Origin>,
    ) -> Vec<Result<Judgement, BucketError>> {
        let mut requests = Vec::with_capacity(submissions.len());
        let mut places = Vec::with_capacity(submissions.len());
        for submission in submissions {
            let place = match self.redis_bucket.refuse_unsupported(&submission) {
                Ok(()) => self
                    .redis_bucket
                    .admission_request(submission, origin.clone())
                    .await
                    .map(|request| requests.push(request)),
                Err(unsupported) => Err(unsupported),
            };
            places.push(place);
        }
        let mut judged = self.admissions.put_all(requests).await.into_iter();
        let mut next = || judged.next().flatten().unwrap_or(Err(BucketError::Closing));
        places.into_iter().map(|place| place.and_then(|()| next())).collect()
    }

    /// Jobs that another bucket has accepted before, each with its deadline in ms since the epoch: no limit is asked,
    /// and none charged.
    pub(crate) async fn admit_accepted(
        &self,
        jobs: Vec<(Submission, Option<u64>)>,
    ) -> Vec<Result<Judgement, BucketError>> {
        let sound =
            jobs.iter().map(|(submission, _)| self.redis_bucket.refuse_unsupported(submission)).collect::<Vec<_>>();
        let requests = jobs.into_iter().zip(&sound).filter(|(_, sound)| sound.is_ok());
        let requests =
            requests.map(|((submission, deadline_ms), _)| AdmissionRequest::accepted(submission, deadline_ms));
        let mut judged = self.admissions.put_all(requests.collect()).await.into_iter();
        let mut next = || judged.next().flatten().unwrap_or(Err(BucketError::Closing));
        sound.into_iter().map(|sound| sound.and_then(|()| next())).collect()
    }

    /// As `judge`, of unknown origin.
    ///
    /// # Errors
    /// As [`Bucket::judge`].
    pub async fn admit(&self, submission: Submission) -> Result<Admission, BucketError> {
        Ok(self.judge(submission, Arc::default()).await?.admission)
    }

    /// As `judge_many`, of unknown origin.
    pub async fn admit_many(&self, submissions: Vec<Submission>) -> Vec<Result<Admission, BucketError>> {
        let judged = self.judge_many(submissions, Arc::default()).await.into_iter();
        judged.map(|judged| judged.map(|judged| judged.admission)).collect()
    }

    /// What is known of a job: where it is in the bucket, or how it ended. None: unknown, or forgotten.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn find(&self, id: JobId) -> Result<Option<JobView>, BucketError> {
        self.redis_bucket.find(id).await
    }

    /// `state` None: all that is in the bucket, oldest first.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; for a cursor of another list.
    pub async fn jobs(
        &self,
        state: Option<JobState>,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<JobView>, BucketError> {
        self.redis_bucket.jobs(state, after, limit).await
    }

    /// Ends a job that isn't in flight.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn cancel(&self, id: JobId) -> Result<Cancel, BucketError> {
        self.redis_bucket.cancel(id).await
    }

    /// Brings back jobs that nobody would ever take, such as parked ones without a due time; what was found of them.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn repair_jobs(&self) -> Result<Vec<Finding>, BucketError> {
        self.redis_bucket.repair_jobs().await
    }

    /// The level, the measured rates and the replicas.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn census(&self) -> Result<Census, BucketError> {
        self.redis_bucket.census().await
    }

    /// Nothing leaks until `resume`; submissions are admitted until the bucket is full.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn pause(&self) -> Result<(), BucketError> {
        self.redis_bucket.pause(true).await
    }

    /// Ends a pause.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn resume(&self) -> Result<(), BucketError> {
        self.redis_bucket.pause(false).await
    }

    /// Cancels all that waits or is parked when it begins; returns how many.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; what was cancelled until then stays cancelled.
    pub async fn purge(&self) -> Result<u64, BucketError> {
        self.redis_bucket.purge().await
    }

    /// In force at once, on all replicas and intakes, also for what is in the bucket.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn apply_overrides(&self, overrides: &Overrides) -> Result<(), BucketError> {
        self.redis_bucket.apply_overrides(overrides).await
    }

    /// Oldest first.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; for a cursor of another list.
    pub async fn dead_letters(
        &self,
        filter: &DeadFilter,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<DeadLetter>, BucketError> {
        self.redis_bucket.dead_letters(filter, after, limit).await
    }

    /// By the id of the job that died.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn dead_letter(&self, id: JobId) -> Result<Option<DeadLetter>, BucketError> {
        self.redis_bucket.dead_letter(id).await
    }

    /// The letter becomes a new job, if there is room.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn replay(&self, id: JobId) -> Result<Replayed, BucketError> {
        self.redis_bucket.replay(id, Duration::ZERO).await
    }

    /// Those that match, oldest first, as far as there is room, at most at `rate`.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; what was replayed until then stays so.
    pub async fn replay_many(&self, filter: &DeadFilter, rate: Option<Rate>) -> Result<ReplayedMany, BucketError> {
        self.redis_bucket.replay_many(filter, rate).await
    }

    /// Whether there was such a letter.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn delete_dead(&self, id: JobId) -> Result<bool, BucketError> {
        self.redis_bucket.delete_dead(id).await
    }

    /// In the order in which the jobs ended.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; for a cursor of another list.
    pub async fn outcomes(
        &self,
        since_ms: Option<u64>,
        ending: Option<Ending>,
        after: Option<&Cursor>,
        limit: usize,
    ) -> Result<Page<EndedJob>, BucketError> {
        self.redis_bucket.outcomes(since_ms, ending, after, limit).await
    }

    /// Which invariants don't hold in Redis; with `repair`, they do afterwards, as far as that is possible. Reads every
    /// job, a bounded part in each script; may be dropped between these.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn examine(&self, repair: bool) -> Result<Examination, BucketError> {
        self.redis_bucket.examine(repair).await
    }

    /// What the ACL of Redis denies our user that this bucket needs, in the words of Redis; empty: nothing. None:
    /// before Redis 7.0, or without `+acl|whoami +acl|dryrun`, that can't be asked.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn denied(&self) -> Result<Option<Vec<String>>, BucketError> {
        self.redis_bucket.denied().await
    }

    /// How the jobs of the last `window` ended: counts and latencies.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn report(&self, window: Duration) -> Result<Report, BucketError> {
        self.redis_bucket.report(window).await
    }

    /// None: it has not ended within the time.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn await_outcome(&self, id: JobId, within: Duration) -> Result<Option<EndedJob>, BucketError> {
        self.outcome_waiters.wait(id, within).await
    }

    /// For who knows that a replica is gone: its jobs are due at once for the others, not only after the lease. None:
    /// its heart beat meanwhile, so it lives and keeps its jobs.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn declare_dead(&self, consumer: &Consumer) -> Result<Option<Recovery>, BucketError> {
        self.redis_bucket.declare_dead(consumer.as_str()).await
    }

    /// Forgets ended work beyond what is kept. To be called periodically: nothing else does in a bucket where nothing
    /// ends.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn enforce_retention(&self) -> Result<Retention, BucketError> {
        self.redis_bucket.enforce_retention().await
    }

    /// Makes a process a member of the bucket's group; a silent member is believed alive for at most `lease`.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn join(&self, consumer: Consumer, lease: Duration, life: Life) -> Result<Replica, BucketError> {
        self.redis_bucket.clone().join(consumer, lease, life).await
    }
}
