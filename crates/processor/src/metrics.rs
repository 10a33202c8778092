//! The metrics of a processor. The registry adds the prefix `dripfeed_`, and the suffix `_total` of counters.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dripfeed_bucket::{CallStats, Recovery};
use dripfeed_job::{BucketName, Ending, JobId};
use dripfeed_trace::TraceId;
use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::exemplar::HistogramWithExemplars;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::{Registry, Unit};

use crate::call::CLASSES;

/// The endings that a processor records.
const ENDINGS: [Ending; 3] = [Ending::Delivered, Ending::Dead, Ending::Expired];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct BucketLabels {
    bucket: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct OutcomeLabels {
    bucket: Arc<str>,
    outcome: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ClassLabels {
    bucket: Arc<str>,
    class: &'static str,
}

/// The label of an exemplar.
#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct TraceLabel {
    trace_id: String,
}

/// Its exemplars are the latest sampled jobs.
type Histogram = HistogramWithExemplars<TraceLabel>;

fn observe(histogram: &Histogram, took: Duration, trace: Option<TraceId>) {
    let exemplar = trace.map(|trace| TraceLabel { trace_id: trace.to_string() });
    histogram.observe(took.as_secs_f64(), exemplar, None);
}

/// The metrics of all lanes.
#[derive(Clone)]
pub(crate) struct Metrics {
    settled: Family<OutcomeLabels, Counter>,
    attempts: Family<ClassLabels, Counter>,
    recovered: Family<BucketLabels, Counter>,
    waited: Histograms,
    attempt_took: Histograms,
    job_took: Histograms,
}

/// One histogram for all buckets unless configured otherwise: a thousand buckets make a page of some MB.
#[derive(Clone)]
enum Histograms {
    OfAll(Histogram),
    ByBucket(Family<BucketLabels, Histogram, fn() -> Histogram>),
}

impl Histograms {
    fn new(by_bucket: bool, empty: fn() -> Histogram) -> Self {
        if by_bucket { Self::ByBucket(Family::new_with_constructor(empty)) } else { Self::OfAll(empty()) }
    }

    fn register(&self, registry: &mut Registry, name: &str, help: &str) {
        match self {
            Self::OfAll(histogram) => registry.register_with_unit(name, help, Unit::Seconds, histogram.clone()),
            Self::ByBucket(family) => registry.register_with_unit(name, help, Unit::Seconds, family.clone()),
        }
    }

    fn of(&self, bucket: &BucketLabels) -> Histogram {
        match self {
            Self::OfAll(histogram) => histogram.clone(),
            Self::ByBucket(family) => family.get_or_create_owned(bucket),
        }
    }

    fn remove(&self, bucket: &BucketLabels) {
        if let Self::ByBucket(family) = self {
            family.remove(bucket);
        }
    }
}

impl Metrics {
    /// `by_bucket`: whether histograms have the label `bucket`.
    pub(crate) fn register(registry: &mut Registry, by_bucket: bool) -> Self {
        let metrics = Self {
            settled: Family::default(),
            attempts: Family::default(),
            recovered: Family::default(),
            waited: Histograms::new(by_bucket, of_jobs),
            attempt_took: Histograms::new(by_bucket, of_calls),
            job_took: Histograms::new(by_bucket, of_jobs),
        };
        registry.register("jobs_settled", "Jobs ended by this processor, by outcome", metrics.settled.clone());
        registry.register("attempts", "Calls to the upstream, by result", metrics.attempts.clone());
        registry.register(
            "jobs_recovered",
            "Jobs that this processor recovered from dead replicas",
            metrics.recovered.clone(),
        );
        for (name, help, histograms) in [
            ("job_wait", "Time from accepting a job to each claim of it, delays and retries included", &metrics.waited),
            ("attempt_duration", "Duration of a call to the upstream, including the response", &metrics.attempt_took),
            ("job_total", "Time from accepting a job to its delivery", &metrics.job_took),
        ] {
            histograms.register(registry, name, help);
        }
        metrics
    }

    /// The metrics of one lane. Counters begin at zero, so that monitoring sees their first increase.
    pub(crate) fn of(&self, bucket: &BucketName) -> LaneMetrics {
        let of = BucketLabels { bucket: bucket.into() };
        let lane = LaneMetrics {
            all: self.clone(),
            recovered: self.recovered.get_or_create_owned(&of),
            waited: self.waited.of(&of),
            attempt_took: self.attempt_took.of(&of),
            job_took: self.job_took.of(&of),
            recent_calls: RecentCalls::default(),
            bucket: of.bucket,
        };
        for ending in ENDINGS {
            drop(lane.all.settled.get_or_create(&lane.outcome(ending)));
        }
        lane
    }

    /// Removes the metrics of a bucket.
    pub(crate) fn remove(&self, bucket: &BucketName) {
        let bucket = || Arc::from(bucket);
        for ending in ENDINGS {
            self.settled.remove(&OutcomeLabels { bucket: bucket(), outcome: ending.as_str() });
        }
        for class in CLASSES {
            self.attempts.remove(&ClassLabels { bucket: bucket(), class });
        }
        let of = BucketLabels { bucket: bucket() };
        self.recovered.remove(&of);
        for histograms in [&self.waited, &self.attempt_took, &self.job_took] {
            histograms.remove(&of);
        }
    }
}

/// The metrics of one bucket.
pub(crate) struct LaneMetrics {
    bucket: Arc<str>,
    all: Metrics,
    recovered: Counter,
    waited: Histogram,
    attempt_took: Histogram,
    job_took: Histogram,
    recent_calls: RecentCalls,
}

/// The calls that aren't in the history yet.
#[derive(Default)]
pub(crate) struct RecentCalls(Mutex<CallStats>);

impl RecentCalls {
    pub(crate) fn note(&self, note: impl FnOnce(&mut CallStats)) {
        note(&mut self.0.lock());
    }

    pub(crate) fn take(&self) -> CallStats {
        std::mem::take(&mut self.0.lock())
    }
}

impl LaneMetrics {
    pub(crate) const fn recent_calls(&self) -> &RecentCalls {
        &self.recent_calls
    }

    pub(crate) fn claimed(&self, id: JobId, trace: Option<TraceId>) {
        let waited = since_admission(id);
        observe(&self.waited, waited, trace);
        self.recent_calls.note(|calls| calls.waited(waited));
    }

    pub(crate) fn attempted(&self, class: &'static str, status: Option<u16>, took: Duration, trace: Option<TraceId>) {
        self.all.attempts.get_or_create(&ClassLabels { bucket: self.bucket.clone(), class }).inc();
        observe(&self.attempt_took, took, trace);
        self.recent_calls.note(|calls| calls.answered(status, took));
    }

    pub(crate) fn retried(&self) {
        self.recent_calls.note(CallStats::retried);
    }

    pub(crate) fn ended(&self, id: JobId, ending: Ending, trace: Option<TraceId>) {
        if ending == Ending::Delivered {
            let took = since_admission(id);
            observe(&self.job_took, took, trace);
            self.recent_calls.note(|calls| calls.delivered(took));
        }
        self.count(ending, 1);
    }

    pub(crate) fn recovered(&self, recovery: &Recovery) {
        self.recovered.inc_by(recovery.recovered);
        self.count(Ending::Dead, recovery.poisoned);
    }

    /// Counts jobs that ended without a call of this replica: past their deadline, too large, or dead-lettered later
    /// because there was no room when they died.
    pub(crate) fn ended_uncalled(&self, ending: Ending, jobs: u64) {
        if jobs > 0 {
            self.count(ending, jobs);
        }
    }

    fn count(&self, ending: Ending, jobs: u64) {
        self.all.settled.get_or_create(&self.outcome(ending)).inc_by(jobs);
    }

    fn outcome(&self, ending: Ending) -> OutcomeLabels {
        OutcomeLabels { bucket: self.bucket.clone(), outcome: ending.as_str() }
    }
}

/// Informational only: compares the clock of this host with that of Redis.
fn since_admission(id: JobId) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(Duration::from_millis(id.accepted_ms()))
}

/// From a fast local service to one at the default time limit and beyond.
fn of_calls() -> Histogram {
    HistogramWithExemplars::new([0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0].into_iter())
}

/// From a job that finds an empty bucket to one that waits through an outage of its upstream.
fn of_jobs() -> Histogram {
    HistogramWithExemplars::new(
        [0.005, 0.025, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0, 7200.0, 43_200.0].into_iter(),
    )
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn histograms_are_of_all_buckets_unless_asked_for_by_bucket() {
        let mut registry = Registry::with_prefix("dripfeed");
        let metrics = Metrics::register(&mut registry, false);
        for bucket in ["feed", "mail"] {
            metrics.of(&bucket.parse().unwrap()).claimed(JobId::new(u64::MAX, 0), None);
        }
        metrics.remove(&"mail".parse().unwrap());
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        assert!(text.contains("dripfeed_job_wait_seconds_count 2"), "{text}");
    }

    #[test]
    fn the_names_are_those_of_the_contract() {
        let mut registry = Registry::with_prefix("dripfeed");
        let (metrics, bucket) = (Metrics::register(&mut registry, true), "feed".parse().unwrap());
        let lane = metrics.of(&bucket);
        lane.claimed(JobId::new(u64::MAX, 0), None);
        lane.attempted("2xx", Some(200), Duration::from_millis(20), None);
        lane.ended(JobId::new(0, 0), Ending::Delivered, None);
        lane.ended_uncalled(Ending::Expired, 3);
        lane.recovered(&Recovery { recovered: 2, poisoned: 1, ..Recovery::default() });
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        for line in [
            r#"dripfeed_jobs_settled_total{bucket="feed",outcome="delivered"} 1"#,
            r#"dripfeed_jobs_settled_total{bucket="feed",outcome="dead"} 1"#,
            r#"dripfeed_jobs_settled_total{bucket="feed",outcome="expired"} 3"#,
            r#"dripfeed_attempts_total{bucket="feed",class="2xx"} 1"#,
            r#"dripfeed_jobs_recovered_total{bucket="feed"} 2"#,
            r#"dripfeed_job_wait_seconds_count{bucket="feed"} 1"#,
            r#"dripfeed_job_wait_seconds_sum{bucket="feed"} 0.0"#,
            r#"dripfeed_attempt_duration_seconds_bucket{le="0.025",bucket="feed"} 1"#,
            r#"dripfeed_job_total_seconds_count{bucket="feed"} 1"#,
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }

        CLASSES.iter().for_each(|class| lane.attempted(class, None, Duration::ZERO, None));
        metrics.remove(&bucket);
        text.clear();
        prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
        assert!(!text.contains("feed\""), "{text}");
    }
}
