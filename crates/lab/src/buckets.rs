//! The buckets of the experiments.

use std::time::Duration;

use dripfeed_bucket::{Admission, Bucket, BucketError, BucketSettings, Fair, Keep, Kind, Leak, OnOutcome, PaceTiers};
use dripfeed_job::forward::ClientAddress;
use dripfeed_job::{BucketName, Rate, Retry, Submission};
use dripfeed_store::Durability;

use crate::error::LabError;

/// Returns the settings of a bucket with this capacity in jobs, rate, burst, and concurrency per replica.
pub(crate) fn settings(
    name: BucketName,
    kind: Kind,
    capacity: u64,
    (rate, burst): (Rate, u64),
    concurrency: u32,
) -> BucketSettings {
    BucketSettings {
        name,
        kind,
        key: None,
        capacity,
        capacity_bytes: 64 << 20,
        max_share: None,
        most_schedules: 1000,
        schedules_bytes: 1 << 20,
        fair: Fair::default(),
        on_outcome: OnOutcome::default(),
        leak: Leak {
            rate: Some(rate),
            burst,
            concurrency,
            tiers: PaceTiers::default(),
            adaptive: false,
            max_in_flight: None,
            max_hold: Duration::from_mins(1),
            default_hold: Duration::from_secs(1),
        },
        retry: Retry { attempts: 1, first: Duration::from_secs(1), max: Duration::from_secs(1) },
        deliveries: 3,
        keep: Keep {
            outcomes: Duration::from_mins(5),
            most_outcomes: 10_000,
            outcomes_bytes: 64 << 20,
            answer_bytes: 100,
            failed_attempts: 0,
            failed_answer_bytes: 0,
            most_failed: 0,
            idempotency_keys: Duration::from_mins(5),
            most_idempotency_keys: 100_000,
            dead: Duration::from_hours(1),
            most_dead: 1000,
            dead_bytes: 64 << 20,
            when_dead_full: dripfeed_bucket::WhenDeadFull::DropOldest,
        },
        client_address: ClientAddress::Dropped,
        durability: Durability::Process,
    }
}

pub(crate) fn name(text: &str) -> Result<BucketName, LabError> {
    text.parse().map_err(|error| LabError::Settings(format!("{error}")))
}

/// Submits one small job. Returns whether the bucket had room.
pub(crate) async fn hand_in(bucket: &Bucket) -> Result<bool, BucketError> {
    Ok(matches!(bucket.admit(job()).await?, Admission::Admitted(_)))
}

/// Submits this many small jobs. Returns the number of accepted ones.
pub(crate) async fn fill(bucket: &Bucket, jobs: usize) -> Result<usize, BucketError> {
    let mut admitted = 0;
    for answer in bucket.admit_many(vec![job(); jobs]).await {
        admitted += usize::from(matches!(answer?, Admission::Admitted(_)));
    }
    Ok(admitted)
}

fn job() -> Submission {
    Submission { body: "{\"tiger\":1}".into(), ..Submission::default() }
}
