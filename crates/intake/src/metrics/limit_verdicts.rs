//! Decisions of bucket limits on submissions, as a counter. Counts of limits that no longer exist are dropped, so that
//! changes don't add labels forever, nor use memory if nobody reads the metrics.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use dripfeed_bucket::{AdmissionDecision, Buckets, MAX_SHARE};
use dripfeed_job::BucketName;
use dripfeed_limit::Mode;
use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;

/// Counts by limit and verdict.
type CountsByLimit = BTreeMap<(String, &'static str), u64>;

/// Cheap to clone; clones share their counts.
#[derive(Clone)]
pub(crate) struct LimitVerdicts(Arc<VerdictCounters>);

struct VerdictCounters {
    buckets: Arc<Buckets>,
    counts: Mutex<BTreeMap<BucketName, CountsByLimit>>,
}

impl LimitVerdicts {
    pub(crate) fn new(buckets: Arc<Buckets>) -> Self {
        Self(Arc::new(VerdictCounters { buckets, counts: Mutex::default() }))
    }

    /// Counts the verdict of each limit, `max_share` included.
    pub(crate) fn count(&self, bucket: &BucketName, judged: &AdmissionDecision) {
        for decision in judged.limits.iter().flat_map(|limits| &limits.policies) {
            let verdict = match (decision.allowed, decision.policy.settings().mode) {
                (true, _) => "allowed",
                (false, Mode::Shadow) => "shadow_refused",
                (false, _) => "refused",
            };
            self.add(bucket, decision.policy.id().as_str(), verdict);
        }
        if judged.caller_share.is_some() {
            let refused = judged.violated().contains(&MAX_SHARE);
            self.add(bucket, MAX_SHARE, if refused { "refused" } else { "allowed" });
        }
    }

    /// Of one bucket: limit, verdict and how often.
    pub(crate) fn of(&self, bucket: &BucketName) -> Vec<(String, &'static str, u64)> {
        let counts = self.0.counts.lock();
        let of_bucket = counts.get(bucket).into_iter().flatten();
        of_bucket.map(|((limit, verdict), count)| (limit.clone(), *verdict, *count)).collect()
    }

    /// Of a bucket that was removed, or created again.
    pub(crate) fn forget(&self, bucket: &BucketName) {
        self.0.counts.lock().remove(bucket);
    }

    fn add(&self, bucket: &BucketName, limit: &str, verdict: &'static str) {
        let mut counts = self.0.counts.lock();
        let of_bucket = counts.entry(bucket.clone()).or_default();
        let known = of_bucket.len();
        *of_bucket.entry((limit.to_owned(), verdict)).or_default() += 1;
        if of_bucket.len() == known {
            return;
        }
        // Only here may it be more than the bucket has now, or a bucket that was removed meanwhile.
        match self.0.buckets.get(bucket.as_str()) {
            Some(bucket) => of_bucket.retain(|(limit, _), _| bucket.has_limit(limit)),
            None => drop(counts.remove(bucket)),
        }
    }
}

impl fmt::Debug for LimitVerdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LimitVerdicts")
    }
}

impl Collector for LimitVerdicts {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let help = "Decisions on submissions by rate limit of the bucket: allowed, refused, or shadow_refused (would \
            have been refused)";
        let metric_type = ConstCounter::new(0_u64).metric_type();
        let mut family = encoder.encode_descriptor("bucket_limit_verdicts", help, None, metric_type)?;
        let buckets = self.0.buckets.all();
        let mut counts = self.0.counts.lock();
        for (name, counts) in &mut *counts {
            let Some(bucket) = buckets.get(name) else { continue };
            counts.retain(|(limit, _), _| bucket.has_limit(limit));
            for ((limit, verdict), count) in counts {
                let labels = [("bucket", name.as_str()), ("policy", limit.as_str()), ("verdict", *verdict)];
                ConstCounter::new(*count).encode(family.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use dripfeed_bucket::Bucket;
    use dripfeed_tests::buckets;
    use dripfeed_tests::redis_server::TestRedis;

    use super::*;

    #[tokio::test]
    async fn limits_and_buckets_that_are_gone_take_no_memory_though_nobody_reads_the_metrics() {
        let bucket = Bucket::new(TestRedis::start().await.store().await, buckets::settings("b"));
        let verdicts = LimitVerdicts::new(Arc::new(Buckets::new([bucket.clone()])));
        for number in 0..100 {
            verdicts.add(bucket.name(), &format!("of-an-earlier-change-{number}"), "allowed");
            if let Ok(removed) = format!("removed-{number}").parse() {
                verdicts.add(&removed, "each", "allowed");
            }
        }
        let counts = verdicts.0.counts.lock();
        assert!(counts.len() <= 1, "{}", counts.len());
        drop(counts);
        assert_eq!(verdicts.of(bucket.name()), []);
    }
}
