//! What the intake counts of its own doing.

use std::time::Duration;

use dripfeed_bucket::{Judgement, MAX_SHARE};
use dripfeed_job::BucketName;
use dripfeed_limit::Mode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

use crate::problem::Code;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfBucket {
    bucket: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Refusal {
    bucket: String,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LimitVerdict {
    bucket: String,
    policy: String,
    verdict: &'static str,
}

#[derive(Clone, Debug)]
pub struct IntakeMetrics {
    accepted: Family<OfBucket, Counter>,
    refused: Family<Refusal, Counter>,
    limit_verdicts: Family<LimitVerdict, Counter>,
    admit_duration: Family<OfBucket, Histogram, fn() -> Histogram>,
}

/// From a quarter of a millisecond to four seconds: a lone admission on loopback lies at the lower end, one that met a
/// failing Redis at the upper.
fn admit_durations() -> Histogram {
    Histogram::new(exponential_buckets(0.000_25, 2.0, 15))
}

impl IntakeMetrics {
    /// Registers them; the registry's prefix goes before their names.
    #[must_use]
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self {
            accepted: Family::default(),
            refused: Family::default(),
            limit_verdicts: Family::default(),
            admit_duration: Family::new_with_constructor(admit_durations),
        };
        registry.register("jobs_accepted", "Jobs this intake admitted", metrics.accepted.clone());
        registry.register("jobs_refused", "Submissions this intake refused, by reason", metrics.refused.clone());
        registry.register(
            "bucket_limit_verdicts",
            "What each limit of a bucket said of submissions: allowed, refused, or shadow_refused, which changes nothing",
            metrics.limit_verdicts.clone(),
        );
        registry.register_with_unit(
            "admit_duration",
            "Time to admit a job or a batch",
            Unit::Seconds,
            metrics.admit_duration.clone(),
        );
        metrics
    }

    pub(crate) fn accepted(&self, bucket: &BucketName) {
        self.accepted.get_or_create(&OfBucket { bucket: bucket.to_string() }).inc();
    }

    pub(crate) fn refused(&self, bucket: &BucketName, why: Code) {
        self.refused.get_or_create(&Refusal { bucket: bucket.to_string(), reason: why.as_str() }).inc();
    }

    /// What each limit said, `max_share` included.
    pub(crate) fn limited(&self, bucket: &BucketName, judged: &Judgement) {
        for said in judged.limits.iter().flat_map(|limits| &limits.policies) {
            let verdict = match (said.allowed, said.policy.settings().mode) {
                (true, _) => "allowed",
                (false, Mode::Shadow) => "shadow_refused",
                (false, _) => "refused",
            };
            self.limit_said(bucket, said.policy.id().as_str(), verdict);
        }
        if judged.holding.is_some() {
            let refused = judged.violated().contains(&MAX_SHARE);
            self.limit_said(bucket, MAX_SHARE, if refused { "refused" } else { "allowed" });
        }
    }

    fn limit_said(&self, bucket: &BucketName, policy: &str, verdict: &'static str) {
        let said = LimitVerdict { bucket: bucket.to_string(), policy: policy.to_owned(), verdict };
        self.limit_verdicts.get_or_create(&said).inc();
    }

    pub(crate) fn admitted_in(&self, bucket: &BucketName, took: Duration) {
        self.admit_duration.get_or_create(&OfBucket { bucket: bucket.to_string() }).observe(took.as_secs_f64());
    }
}
