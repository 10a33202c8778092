//! Decisions of bucket limits on submissions, as a counter; only of current limits, so that changes don't add labels
//! forever.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use dripfeed_bucket::{Buckets, Judgement, MAX_SHARE};
use dripfeed_job::BucketName;
use dripfeed_limit::Mode;
use parking_lot::Mutex;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;

/// By bucket, limit and verdict.
type CountsByLimit = BTreeMap<(BucketName, String, &'static str), u64>;

/// Cheap to clone; clones are one.
#[derive(Clone)]
pub(crate) struct LimitVerdicts(Arc<VerdictCounters>);

struct VerdictCounters {
    buckets: Arc<Buckets>,
    counts: Mutex<CountsByLimit>,
}

impl LimitVerdicts {
    /// Those of `buckets`.
    pub(crate) fn new(buckets: Arc<Buckets>) -> Self {
        Self(Arc::new(VerdictCounters { buckets, counts: Mutex::default() }))
    }

    /// Counts the verdict of each limit, `max_share` included.
    pub(crate) fn count(&self, bucket: &BucketName, judged: &Judgement) {
        for said in judged.limits.iter().flat_map(|limits| &limits.policies) {
            let verdict = match (said.allowed, said.policy.settings().mode) {
                (true, _) => "allowed",
                (false, Mode::Shadow) => "shadow_refused",
                (false, _) => "refused",
            };
            self.add(bucket, said.policy.id().as_str(), verdict);
        }
        if judged.caller_share.is_some() {
            let refused = judged.violated().contains(&MAX_SHARE);
            self.add(bucket, MAX_SHARE, if refused { "refused" } else { "allowed" });
        }
    }

    /// Of one bucket: limit, verdict and how often.
    pub(crate) fn of(&self, bucket: &BucketName) -> Vec<(String, &'static str, u64)> {
        let counts = self.0.counts.lock();
        let of_bucket = counts.iter().filter(|((of, _, _), _)| of == bucket);
        of_bucket.map(|((_, limit, verdict), count)| (limit.clone(), *verdict, *count)).collect()
    }

    fn add(&self, bucket: &BucketName, limit: &str, verdict: &'static str) {
        *self.0.counts.lock().entry((bucket.clone(), limit.to_owned(), verdict)).or_default() += 1;
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
        counts.retain(|(bucket, limit, _), _| buckets.get(bucket).is_some_and(|bucket| bucket.is_limited_by(limit)));
        for ((bucket, limit, verdict), count) in &*counts {
            let labels = [("bucket", bucket.as_str()), ("policy", limit.as_str()), ("verdict", *verdict)];
            ConstCounter::new(*count).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}
