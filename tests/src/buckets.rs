//! Buckets for tests, small and fast by default.

use std::sync::Arc;
use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::forward::ClientAddress;
use dripfeed_job::{Retry, Submission};
use dripfeed_store::{Durability, Store};
use serde_json::{Value, json};

use crate::redis_server::TestRedis;

/// Longer than any test, so that no replica looks dead.
const LEASE: Duration = Duration::from_mins(1);

pub fn settings(name: &str) -> BucketSettings {
    BucketSettings {
        name: name.parse().expect("a bucket name"),
        kind: Kind::Stream,
        key: None,
        capacity: 100,
        capacity_bytes: 64 << 20,
        max_share: None,
        most_schedules: 1000,
        schedules_bytes: 1 << 20,
        fair: Fair::default(),
        on_outcome: OnOutcome::default(),
        leak: Leak {
            rate: None,
            burst: 1,
            concurrency: 10,
            tiers: PaceTiers::default(),
            adaptive: true,
            max_in_flight: None,
            max_hold: Duration::from_hours(1),
            default_hold: Duration::from_secs(1),
        },
        retry: Retry { attempts: 3, first: Duration::from_millis(10), max: Duration::from_secs(1) },
        deliveries: 3,
        keep: Keep {
            outcomes: Duration::from_hours(1),
            most_outcomes: 100_000,
            outcomes_bytes: 64 << 20,
            answer_bytes: 4096,
            failed_attempts: 5,
            failed_answer_bytes: 1024,
            most_failed: 1000,
            idempotency_keys: Duration::from_hours(1),
            most_idempotency_keys: 100_000,
            dead: Duration::from_hours(1),
            most_dead: 1000,
            dead_bytes: 64 << 20,
            when_dead_full: dripfeed_bucket::WhenDeadFull::DropOldest,
        },
        client_address: ClientAddress::Dropped,
        durability: Durability::Everysec,
    }
}

/// A run-time change of one setting, with name and value as in the API; null restores the configured value.
pub fn changed(name: &str, value: impl Into<Value>) -> Overrides {
    Overrides::of(name, value).expect("a setting")
}

pub fn job(body: impl Into<String>) -> Submission {
    Submission { body: body.into().into(), ..Submission::default() }
}

pub async fn open(redis: &TestRedis, settings: BucketSettings) -> Bucket {
    Bucket::new(redis.store().await, settings)
}

/// As defined over the API by an intake that was killed before it had opened the bucket.
pub async fn defined(redis: &TestRedis, settings: BucketSettings) -> Bucket {
    let definition = json!({ "upstream": "https://upstream.example/" });
    let new = NewDefinition {
        bucket: &settings.name,
        known: None,
        capacity_bytes: settings.capacity_bytes,
        by: None,
        definition: &definition,
        sealed: None,
    };
    let store = redis.store().await;
    let bounds = DefinitionBounds { most: 10, bytes: 1 << 40 };
    let PutDefinitionResult::Done { incarnation, .. } = new.put(&store, bounds).await.expect("Redis answers") else {
        panic!("the definition isn't stored")
    };
    Bucket::defined(store, settings, incarnation)
}

/// As an intake did long ago that was killed before it had decided to delete the bucket.
pub async fn suspend_long_ago(redis: &TestRedis, bucket: &Bucket) {
    let incarnation = bucket.incarnation().expect("it was created over the API");
    let suspended = bucket.suspend(incarnation, true).await.expect("Redis answers");
    assert!(matches!(suspended, SuspendResult::Done(_)), "{suspended:?}");
    redis.ask::<u64>(&format!("HSET dripfeed:{{{}}}:control suspended 1", bucket.name())).await;
}

/// Runs the background replays of a bucket that stays.
pub async fn resume_replays(bucket: &Bucket) {
    let served = Arc::new(Buckets::new([bucket.clone()]));
    bucket.resume_replays(&served, || {}).await.expect("Redis answers");
}

pub async fn join(bucket: &Bucket, name: &str) -> Replica {
    bucket.join(Consumer::new(name), LEASE, JoinKind::First).await.expect("Redis answers")
}

pub async fn submit(bucket: &Bucket, submission: Submission) -> Admitted {
    admitted(bucket.admit(submission).await)
}

pub fn admitted(admission: Result<Admission, BucketError>) -> Admitted {
    match admission.expect("Redis answers") {
        Admission::Admitted(admitted) => admitted,
        Admission::Refused(refused) => panic!("refused: {refused:?}"),
    }
}

pub fn refused(admission: Result<Admission, BucketError>) -> Refused {
    match admission.expect("Redis answers") {
        Admission::Refused(refused) => refused,
        Admission::Admitted(admitted) => panic!("admitted: {admitted:?}"),
    }
}

/// Claims up to `most` jobs. There must be at least one.
pub async fn take(replica: &Replica, most: usize) -> Vec<ClaimedJob> {
    match replica.take(most).await.expect("Redis answers") {
        Take::Jobs(jobs, _) => jobs,
        other => panic!("{other:?}"),
    }
}

pub async fn take_one(replica: &Replica) -> ClaimedJob {
    take(replica, 1).await.pop().expect("a job")
}

pub async fn takes_nothing(replica: &Replica) -> bool {
    matches!(replica.take(100).await.expect("Redis answers"), Take::Idle(_))
}

pub async fn settle(replica: &Replica, taken: ClaimedJob, settlement: Settlement) -> SettleResult {
    replica.settle(taken.claim, settlement).await.expect("Redis answers")
}

/// All dead letters.
pub const NO_FILTER: DeadFilter = DeadFilter {
    reason: None,
    exact_reason: false,
    status: None,
    caller: None,
    died_since_ms: None,
    died_until_ms: None,
};

pub const DELIVERED: Settlement = Settlement::Complete { status: 200, answer: None };

pub fn buried(reason: &str) -> Settlement {
    Settlement::Bury { reason: reason.into(), status: None, answer: None, called: true }
}

/// Makes an entry of a process about a bucket (name, kind and key) as old as possible.
pub async fn silence(store: &Store, place: &str) {
    let silence = redis::Cmd::hset("dripfeed:{@installation}:buckets", place, 1);
    store.command::<u64>(&silence).await.expect("Redis answers");
}
