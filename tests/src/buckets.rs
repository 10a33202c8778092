//! Buckets for tests: small and fast unless a test says otherwise.

use std::time::Duration;

use dripfeed_bucket::{BucketSettings, Keep, Kind, Leak};
use dripfeed_job::{Retry, Submission};
use dripfeed_store::Durability;

pub fn settings(name: &str) -> BucketSettings {
    BucketSettings {
        name: name.parse().expect("a bucket name"),
        kind: Kind::Stream,
        key: None,
        capacity: 100,
        capacity_bytes: 64 << 20,
        leak: Leak {
            rate: None,
            burst: 1,
            concurrency: 10,
            max_in_flight: None,
            max_hold: Duration::from_hours(1),
            default_hold: Duration::from_secs(1),
        },
        retry: Retry { attempts: 3, first: Duration::from_millis(10), max: Duration::from_secs(1) },
        deliveries: 3,
        keep: Keep {
            outcomes: Duration::from_hours(1),
            most_outcomes: 100_000,
            answer_bytes: 4096,
            idempotency_keys: Duration::from_hours(1),
            most_dead: 1000,
        },
        durability: Durability::Everysec,
    }
}

pub fn job(body: impl Into<String>) -> Submission {
    Submission { body: body.into().into(), ..Submission::default() }
}
