//! Counters and histograms of submissions.

use std::convert::Infallible;
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::{Admission, AdmissionDecision, Bucket, BucketError, Buckets, Refusals, Refused};
use dripfeed_job::{BucketName, Ending};
use dripfeed_trace::TraceId;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::exemplar::HistogramWithExemplars;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::exponential_buckets;
use prometheus_client::registry::{Registry, Unit};

use super::limit_verdicts::LimitVerdicts;
use super::refused_callers::RefusedCallers;
use super::tick_outcome::TickOutcome;
use crate::problem::Code;

/// The endings that an intake records.
const ENDINGS: [Ending; 2] = [Ending::Cancelled, Ending::Expired];

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BucketLabels {
    bucket: Arc<str>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusalLabels {
    bucket: Arc<str>,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OutcomeLabels {
    bucket: Arc<str>,
    outcome: &'static str,
}

#[derive(Clone)]
pub struct IntakeMetrics {
    buckets: Arc<Buckets>,
    accepted: Family<BucketLabels, Counter>,
    refused: Family<RefusalLabels, Counter>,
    settled: Family<OutcomeLabels, Counter>,
    limit_verdicts: LimitVerdicts,
    refused_callers: RefusedCallers,
    schedule_ticks: Family<OutcomeLabels, Counter>,
    admit_duration: AdmitDurations,
}

/// The label of an exemplar.
#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct TraceLabel {
    trace_id: String,
}

impl From<TraceId> for TraceLabel {
    fn from(trace: TraceId) -> Self {
        Self { trace_id: trace.to_string() }
    }
}

type AdmitHistogram = HistogramWithExemplars<TraceLabel>;

/// One histogram for all buckets unless configured otherwise: those of thousands of buckets make a page of many MB.
#[derive(Clone)]
enum AdmitDurations {
    OfAll(AdmitHistogram),
    ByBucket(Family<BucketLabels, AdmitHistogram, fn() -> AdmitHistogram>),
}

impl AdmitDurations {
    fn new(by_bucket: bool) -> Self {
        if by_bucket {
            Self::ByBucket(Family::new_with_constructor(admit_durations))
        } else {
            Self::OfAll(admit_durations())
        }
    }

    fn register(&self, registry: &mut Registry) {
        let (name, help, unit) = ("admit_duration", "Time to accept a job or a batch", Unit::Seconds);
        match self {
            Self::OfAll(durations) => registry.register_with_unit(name, help, unit, durations.clone()),
            Self::ByBucket(family) => registry.register_with_unit(name, help, unit, family.clone()),
        }
    }
}

/// From a quarter of a millisecond, a single admission on loopback, to four seconds, an admission during a Redis
/// failure.
fn admit_durations() -> AdmitHistogram {
    HistogramWithExemplars::new(exponential_buckets(0.000_25, 2.0, 15))
}

impl fmt::Debug for IntakeMetrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IntakeMetrics")
    }
}

impl IntakeMetrics {
    /// Registers the metrics of `buckets`; the registry's prefix goes before their names. `histograms_by_bucket`:
    /// whether histograms have the label `bucket`.
    #[must_use]
    pub fn register(buckets: Arc<Buckets>, registry: &mut Registry, histograms_by_bucket: bool) -> Self {
        let metrics = Self {
            accepted: Family::default(),
            refused: Family::default(),
            settled: Family::default(),
            limit_verdicts: LimitVerdicts::new(Arc::clone(&buckets)),
            buckets,
            refused_callers: RefusedCallers::default(),
            schedule_ticks: Family::default(),
            admit_duration: AdmitDurations::new(histograms_by_bucket),
        };
        registry.register("jobs_accepted", "Jobs accepted by this intake", metrics.accepted.clone());
        registry.register("jobs_refused", "Submissions refused by this intake, by reason", metrics.refused.clone());
        registry.register(
            "jobs_settled",
            "Jobs cancelled over this intake, or found expired by it",
            metrics.settled.clone(),
        );
        registry.register_collector(Box::new(metrics.limit_verdicts.clone()));
        let help = "Ticks of schedules handled by this intake, by outcome";
        registry.register("schedule_ticks", help, metrics.schedule_ticks.clone());
        metrics.admit_duration.register(registry);
        metrics
    }

    pub(crate) fn accepted(&self, bucket: &BucketName, jobs: u64) {
        if jobs > 0 {
            self.count(&self.accepted, &BucketLabels { bucket: bucket.into() }, bucket, jobs);
        }
    }

    /// Returns a function that counts one accepted job per call.
    pub fn counts_accepted(&self, bucket: &BucketName) -> impl Fn() + Clone + Send + 'static {
        let (metrics, bucket) = (self.clone(), bucket.clone());
        move || metrics.accepted(&bucket, 1)
    }

    pub(crate) fn refused(&self, bucket: &BucketName, why: Code) {
        self.count(&self.refused, &RefusalLabels { bucket: bucket.into(), reason: why.as_str() }, bucket, 1);
    }

    pub(crate) fn cancelled(&self, bucket: &BucketName, jobs: u64) {
        self.ended(bucket, Ending::Cancelled, jobs);
    }

    /// Counts jobs that this intake has found past their deadline. Processors count those that they find.
    pub fn expired(&self, bucket: &BucketName, jobs: u64) {
        self.ended(bucket, Ending::Expired, jobs);
    }

    fn ended(&self, bucket: &BucketName, ending: Ending, jobs: u64) {
        if jobs > 0 {
            self.count(&self.settled, &Self::outcome(bucket, ending), bucket, jobs);
        }
    }

    fn outcome(bucket: &BucketName, ending: Ending) -> OutcomeLabels {
        OutcomeLabels { bucket: bucket.into(), outcome: ending.as_str() }
    }

    pub(crate) fn ticked(&self, bucket: &BucketName, outcome: TickOutcome, ticks: u64) {
        if ticks > 0 {
            let labels = OutcomeLabels { bucket: bucket.into(), outcome: outcome.as_str() };
            self.count(&self.schedule_ticks, &labels, bucket, ticks);
        }
    }

    /// Counts the verdict of each limit, `max_share` included, if the bucket has limits.
    pub(crate) fn limited(&self, bucket: &BucketName, judged: &AdmissionDecision) {
        if judged.limits.is_some() || judged.caller_share.is_some() {
            self.limit_verdicts.count(bucket, judged);
        }
    }

    /// Counts a caller's refused submission for each limit that refused it.
    pub(crate) fn refused_caller(&self, bucket: &BucketName, caller: &str, judged: &AdmissionDecision) {
        let Admission::Refused(Refused { reason, .. }) = &judged.admission else { return };
        let violated = judged.violated();
        let limits = if violated.is_empty() { vec![reason.code()] } else { violated };
        limits.into_iter().for_each(|limit| self.refused_callers.count(bucket, caller, limit));
        self.forget_if_removed(bucket);
    }

    /// Shares the refusals of this intake with all others, as long as it runs.
    pub async fn keep_sharing_refusals(&self) -> Infallible {
        self.refused_callers.keep_sharing(&self.buckets).await
    }

    /// Adds the refusals of this intake to those of all. Returns these by caller and limit, of the current hour and the
    /// one before, most refusals first.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub(crate) async fn share_refusals(&self, bucket: &Bucket) -> Result<Vec<Refusals>, BucketError> {
        let shared = self.refused_callers.share(bucket).await;
        self.forget_if_removed(bucket.name());
        shared
    }

    /// Returns each limit of the bucket, `max_share` included, with a verdict and its count.
    pub(crate) fn limit_verdicts(&self, bucket: &BucketName) -> Vec<(String, &'static str, u64)> {
        self.limit_verdicts.of(bucket)
    }

    /// Records how long an admission took; the trace of a sampled request becomes an exemplar.
    pub(crate) fn admitted_in(&self, bucket: &BucketName, took: Duration, trace: Option<TraceId>) {
        let (seconds, exemplar) = (took.as_secs_f64(), trace.map(TraceLabel::from));
        let by_bucket = match &self.admit_duration {
            AdmitDurations::OfAll(durations) => return durations.observe(seconds, exemplar, None),
            AdmitDurations::ByBucket(by_bucket) => by_bucket,
        };
        let of = BucketLabels { bucket: bucket.into() };
        if let Some(durations) = by_bucket.get(&of) {
            return durations.observe(seconds, exemplar, None);
        }
        by_bucket.get_or_create(&of).observe(seconds, exemplar, None);
        self.forget_if_removed(bucket);
    }

    /// A series is only created here, so only a new series can belong to a removed bucket.
    fn count<L>(&self, series: &Family<L, Counter>, of: &L, bucket: &BucketName, times: u64)
    where
        L: Clone + Eq + Hash,
    {
        if let Some(counter) = series.get(of) {
            counter.inc_by(times);
            return;
        }
        series.get_or_create(of).inc_by(times);
        self.forget_if_removed(bucket);
    }

    /// If a bucket is removed during a request, the request's counts would otherwise stay forever.
    fn forget_if_removed(&self, bucket: &BucketName) {
        if !self.buckets.has(bucket) {
            self.forget(bucket);
        }
    }

    /// Drops the metrics of a removed bucket. Call it when the bucket is no longer in the set of buckets.
    pub fn forget(&self, bucket: &BucketName) {
        let of = BucketLabels { bucket: bucket.into() };
        self.accepted.remove(&of);
        self.limit_verdicts.forget(bucket);
        self.refused_callers.forget(bucket);
        if let AdmitDurations::ByBucket(durations) = &self.admit_duration {
            durations.remove(&of);
        }
        for ending in ENDINGS {
            self.settled.remove(&Self::outcome(bucket, ending));
        }
        for outcome in TickOutcome::ALL {
            self.schedule_ticks.remove(&OutcomeLabels { bucket: bucket.into(), outcome: outcome.as_str() });
        }
        for code in Code::ALL {
            self.refused.remove(&RefusalLabels { bucket: bucket.into(), reason: code.as_str() });
        }
    }
}
