//! Rate-limit decisions of this intake, as a counter.

use std::fmt;

use dripfeed_limit::{Services, VerdictCounts};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::registry::Registry;

/// Counts decisions by service, policy and verdict, collected from `Services`.
#[derive(Debug)]
pub struct LimitMetrics(Services);

type ReadCount = fn(&VerdictCounts) -> u64;

const VERDICTS: [(&str, ReadCount); 4] = [
    ("allowed", |counts| counts.allowed),
    ("refused", |counts| counts.refused),
    ("shadow_refused", |counts| counts.shadow_refused),
    ("unchecked", |counts| counts.unchecked),
];

impl LimitMetrics {
    /// Registers the counter; the registry's prefix goes before its name.
    pub fn register(services: Services, registry: &mut Registry) {
        registry.register_collector(Box::new(Self(services)));
    }
}

impl Collector for LimitMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), fmt::Error> {
        let help = "Decisions on checks of services, by policy and verdict";
        let metric_type = ConstCounter::new(0_u64).metric_type();
        let mut family = encoder.encode_descriptor("limit_decisions", help, None, metric_type)?;
        for (service, policies) in self.0.tally() {
            for (policy, counts) in policies {
                for (verdict, count) in VERDICTS {
                    let labels = [("service", service.as_str()), ("policy", policy.as_str()), ("verdict", verdict)];
                    ConstCounter::new(count(&counts)).encode(family.encode_family(&labels)?)?;
                }
            }
        }
        Ok(())
    }
}
