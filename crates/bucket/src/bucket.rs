use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use dripfeed_job::{BucketName, JobId, Submission};
use dripfeed_store::{Durability, Store};
use tokio::sync::watch;

use crate::admission::admission_request::{AdmissionRequest, Origin};
use crate::admission::admit::Admissions;
use crate::admission::{Admission, AdmissionDecision, MAX_SHARE, PendingAdmission};
use crate::ended::await_outcome::OutcomeWaiters;
use crate::ended::ended_job::EndedJob;
use crate::error::BucketError;
use crate::kind::list;
use crate::script::redis_bucket::RedisBucket;
use crate::settings::limits::BucketLimits;
use crate::settings::{BucketSettings, Kind};

/// A bounded queue in front of one upstream. Cheap to clone; needs a tokio runtime.
///
/// Most verbs are in an `impl Bucket` in the verb's own file.
#[derive(Clone)]
pub struct Bucket {
    pub(crate) redis_bucket: Arc<RedisBucket>,
    name: BucketName,
    submitter: Arc<Submitter>,
}

/// State that is created when a process submits to the bucket. Most processes only call the upstream.
#[derive(Default)]
struct Submitter {
    admissions: OnceLock<Admissions>,
    outcome_waiters: OnceLock<OutcomeWaiters>,
}

impl Bucket {
    /// Creates a handle of a bucket, without a request to Redis.
    #[must_use]
    pub fn new(store: Store, settings: BucketSettings) -> Self {
        Self::of_incarnation(store, settings, None)
    }

    /// Creates the handle of a bucket created over the API, which can be used only while it is open ([`Bucket::open`]).
    #[must_use]
    pub fn defined(store: Store, settings: BucketSettings, incarnation: u64) -> Self {
        Self::of_incarnation(store, settings, Some(incarnation))
    }

    fn of_incarnation(store: Store, settings: BucketSettings, incarnation: Option<u64>) -> Self {
        let name = settings.name.clone();
        let redis_bucket = Arc::new(RedisBucket::new(store, settings, incarnation));
        Self { redis_bucket, name, submitter: Arc::default() }
    }

    fn admissions(&self) -> &Admissions {
        self.submitter.admissions.get_or_init(|| Admissions::start(&self.redis_bucket))
    }

    #[must_use]
    pub const fn name(&self) -> &BucketName {
        &self.name
    }

    /// Counts the requests of this process that may have changed the bucket.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.redis_bucket.changes()
    }

    /// Returns the configured settings. The census reports changes at run time.
    #[must_use]
    pub fn settings(&self) -> Arc<BucketSettings> {
        self.redis_bucket.settings()
    }

    /// Returns the configured rate limits of submissions.
    #[must_use]
    pub fn limits(&self) -> BucketLimits {
        self.redis_bucket.configured_limits()
    }

    /// Returns its incarnation, or `None` for a bucket of the configuration.
    #[must_use]
    pub fn incarnation(&self) -> Option<u64> {
        self.redis_bucket.incarnation
    }

    /// Returns the effective durability class of accepted jobs.
    #[must_use]
    pub fn durability(&self) -> Durability {
        self.redis_bucket.store.durability()
    }

    /// Replaces the settings, except name, kind and key.
    pub fn reconfigure(&self, settings: BucketSettings) {
        self.redis_bucket.reconfigure(settings);
    }

    /// Replaces the rate limits of submissions, unless they were changed at run time; limits that stay keep their
    /// counters.
    pub fn set_limits(&self, limits: &BucketLimits) {
        self.redis_bucket.set_limits(limits);
    }

    /// Returns whether a limit with this id applies to submissions, including [`crate::MAX_SHARE`], as far as this
    /// process knows.
    #[must_use]
    pub fn has_limit(&self, name: &str) -> bool {
        let effective = self.redis_bucket.effective_settings();
        match name {
            MAX_SHARE => effective.settings.max_share.is_some(),
            _ => effective.limits.policies().iter().any(|policy| policy.id().as_str() == name),
        }
    }

    /// Checks limits, capacity, duplicates and deadline, and enqueues the job: in one script, batched with concurrent
    /// submissions.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time: then
    /// [`StoreError::certainty`](dripfeed_store::StoreError::certainty) says whether the job may be stored. For a
    /// submission that this kind of bucket can't do, and while the process ends.
    pub async fn admit_from(
        &self,
        submission: impl Into<Box<Submission>>,
        origin: Arc<Origin>,
    ) -> Result<AdmissionDecision, BucketError> {
        self.submit(submission, origin).await?.await.unwrap_or(Err(BucketError::Closing))
    }

    /// Like [`Bucket::admit_from`], but doesn't wait for the decision. Redis decides even if the result is dropped.
    ///
    /// # Errors
    /// As [`Bucket::admit_from`].
    pub fn submit(
        &self,
        submission: impl Into<Box<Submission>>,
        origin: Arc<Origin>,
    ) -> impl Future<Output = Result<PendingAdmission, BucketError>> {
        // Boxed, so that the future is small.
        let submission = submission.into();
        async move {
            self.refuse(&submission)?;
            let request = self.redis_bucket.admission_request(submission, origin).await?;
            self.admissions().enter(request).await.ok_or(BucketError::Closing)
        }
    }

    /// Submits several jobs. Each is decided independently; results are in order.
    pub async fn admit_many_from(
        &self,
        submissions: Vec<Submission>,
        origin: Arc<Origin>,
    ) -> Vec<Result<AdmissionDecision, BucketError>> {
        let mut requests = Vec::with_capacity(submissions.len());
        let mut results = Vec::with_capacity(submissions.len());
        for submission in submissions {
            let result = match self.refuse(&submission) {
                Ok(()) => self
                    .redis_bucket
                    .admission_request(Box::new(submission), origin.clone())
                    .await
                    .map(|request| requests.push(request)),
                Err(unsupported) => Err(unsupported),
            };
            results.push(result);
        }
        let mut judged = self.admissions().put_all(requests).await.into_iter();
        let mut next = || judged.next().flatten().unwrap_or(Err(BucketError::Closing));
        results.into_iter().map(|result| result.and_then(|()| next())).collect()
    }

    /// Submits jobs that another bucket has accepted, each with its deadline in ms since the epoch, without limits.
    pub(crate) async fn admit_accepted(
        &self,
        jobs: Vec<(Submission, Option<u64>)>,
    ) -> Vec<Result<AdmissionDecision, BucketError>> {
        let results = jobs.iter().map(|(submission, _)| self.refuse_unsupported(submission)).collect::<Vec<_>>();
        let requests = jobs.into_iter().zip(&results).filter(|(_, result)| result.is_ok());
        let requests =
            requests.map(|((submission, deadline_ms), _)| AdmissionRequest::accepted(submission, deadline_ms));
        let mut judged = self.admissions().put_all(requests.collect()).await.into_iter();
        let mut next = || judged.next().flatten().unwrap_or(Err(BucketError::Closing));
        results.into_iter().map(|result| result.and_then(|()| next())).collect()
    }

    /// Returns whether fair queuing and priorities are in effect, as far as this process knows.
    #[must_use]
    pub fn has_fair_queuing(&self) -> bool {
        self.redis_bucket.has_fair_queuing()
    }

    /// Refuses options that this bucket's kind or settings don't support.
    pub(crate) fn refuse(&self, submission: &Submission) -> Result<(), BucketError> {
        self.refuse_unsupported(submission)?;
        let Submission { chain, group, priority, .. } = submission;
        // Most submissions have no option that depends on the settings.
        if chain.targets.is_none() && group.is_none() && priority.is_none() {
            return Ok(());
        }
        let effective = self.redis_bucket.effective_settings();
        if let Some(chosen) = &chain.targets {
            effective.settings.on_outcome.refuse_unlisted(chosen)?;
        }
        effective.settings.fair.refuse_unsupported(submission)
    }

    /// Refuses options that no bucket of this kind supports.
    fn refuse_unsupported(&self, submission: &Submission) -> Result<(), BucketError> {
        match self.redis_bucket.kind {
            Kind::Stream => Ok(()),
            Kind::List => list::refuse_unsupported(submission),
        }
    }

    /// Like [`Bucket::admit_from`], with an unknown origin. Returns only the admission.
    ///
    /// # Errors
    /// As [`Bucket::admit_from`].
    pub async fn admit(&self, submission: Submission) -> Result<Admission, BucketError> {
        Ok(self.admit_from(submission, Arc::default()).await?.admission)
    }

    /// Like [`Bucket::admit_many_from`], with an unknown origin. Returns only the admissions.
    pub async fn admit_many(&self, submissions: Vec<Submission>) -> Vec<Result<Admission, BucketError>> {
        let judged = self.admit_many_from(submissions, Arc::default()).await.into_iter();
        judged.map(|judged| judged.map(|judged| judged.admission)).collect()
    }

    /// Waits for the outcome of a job. Returns `None` if it hasn't ended in time.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn await_outcome(&self, id: JobId, within: Duration) -> Result<Option<EndedJob>, BucketError> {
        let waiters = self.submitter.outcome_waiters.get_or_init(|| OutcomeWaiters::new(self.redis_bucket.clone()));
        waiters.wait(id, within).await
    }
}

/// The buckets that a process knows, by name. Changes replace the whole map, so that readers need no lock.
#[derive(Default)]
pub struct Buckets {
    all: ArcSwap<BTreeMap<BucketName, Bucket>>,
    changed: watch::Sender<()>,
}

impl Buckets {
    #[must_use]
    pub fn new(buckets: impl IntoIterator<Item = Bucket>) -> Self {
        let all = Self::default();
        all.replace(buckets);
        all
    }

    #[must_use]
    pub fn get(&self, name: &str) -> Option<Bucket> {
        self.all.load().get(name).cloned()
    }

    #[must_use]
    pub fn has(&self, name: &BucketName) -> bool {
        self.all.load().contains_key(name)
    }

    /// Returns all buckets, ordered by name.
    #[must_use]
    pub fn all(&self) -> Arc<BTreeMap<BucketName, Bucket>> {
        self.all.load_full()
    }

    /// Returns the buckets whose names match, ordered by name.
    pub fn among(&self, has: impl Fn(&str) -> bool) -> Vec<Bucket> {
        self.all.load().values().filter(|bucket| has(bucket.name().as_str())).cloned().collect()
    }

    /// Adds or replaces `buckets`, and removes `gone`.
    pub fn change(&self, buckets: &[Bucket], gone: &[BucketName]) {
        self.all.rcu(|before| {
            let mut all = BTreeMap::clone(before);
            gone.iter().for_each(|name| drop(all.remove(name)));
            all.extend(buckets.iter().map(|bucket| (bucket.name().clone(), bucket.clone())));
            all
        });
        self.changed.send_replace(());
    }

    pub fn replace(&self, buckets: impl IntoIterator<Item = Bucket>) {
        let all = buckets.into_iter().map(|bucket| (bucket.name().clone(), bucket)).collect();
        self.all.store(Arc::new(all));
        self.changed.send_replace(());
    }

    /// Completes when `bucket` was removed, or replaced by another one of its name.
    pub async fn removed(&self, bucket: &Bucket) {
        let mut changes = self.changed.subscribe();
        let is_there = |other: &Bucket| Arc::ptr_eq(&other.redis_bucket, &bucket.redis_bucket);
        while self.all.load().get(bucket.name()).is_some_and(is_there) {
            // Can't fail, because `self` has the sender.
            let _ = changes.changed().await;
        }
    }
}
