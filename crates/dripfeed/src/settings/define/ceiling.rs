//! Limits the numbers and sizes that a definition may set. With `define.bytes` this bounds the memory of buckets
//! created over the API.

use dripfeed_bucket::BucketSettings;
use dripfeed_job::size;

use super::definition_fault::{DefinitionFault, fault};

/// The bytes that each job counts at least, as a job needs memory besides its body.
const MIN_JOB_BYTES: u64 = 1 << 10;

type Measured = (&'static str, fn(&BucketSettings) -> u64);

const KEPT: [Measured; 10] = [
    ("keep.most_outcomes", |settings| settings.keep.most_outcomes),
    ("keep.outcomes_bytes", |settings| settings.keep.outcomes_bytes),
    ("keep.failed_attempts", |settings| settings.keep.failed_attempts.into()),
    ("keep.failed_answer", |settings| settings.keep.failed_answer_bytes),
    ("keep.most_failed", |settings| settings.keep.most_failed),
    ("keep.most_idempotency_keys", |settings| settings.keep.most_idempotency_keys),
    ("keep.most_dead", |settings| settings.keep.most_dead),
    ("keep.dead_bytes", |settings| settings.keep.dead_bytes),
    ("most_schedules", |settings| settings.most_schedules),
    ("schedules_bytes", |settings| settings.schedules_bytes),
];

/// Returns a fault for each setting above that in `defaults`, and for a `capacity` too large for `capacity_bytes`.
pub(super) fn exceeded(settings: &BucketSettings, defaults: &BucketSettings) -> Vec<DefinitionFault> {
    let above = KEPT.iter().filter(|(_, measure)| measure(settings) > measure(defaults));
    let mut faults: Vec<DefinitionFault> = above
        .map(|(place, measure)| fault(*place, format!("use at most {}, as in [defaults]", measure(defaults))))
        .collect();
    let most = defaults.capacity.max(settings.capacity_bytes / MIN_JOB_BYTES);
    if settings.capacity > most {
        let bytes = size::show(settings.capacity_bytes);
        faults.push(fault("capacity", format!("use at most {most}: one job for each KiB of {bytes}")));
    }
    faults
}
