//! Bulk cancel ends all matching jobs that no replica has claimed, and no others.

use std::collections::BTreeSet;
use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::{Ending, JobId, JobState, StartTime, Submission};
use dripfeed_tests::buckets::{self, DELIVERED, admitted, join, open, settle, submit, take, takes_nothing};
use dripfeed_tests::redis_server::TestRedis;

const KINDS: [Kind; 2] = [Kind::Stream, Kind::List];
/// More jobs than several scripts cancel or read.
const FLOOD: usize = 450;

fn of_kind(kind: Kind) -> BucketSettings {
    BucketSettings { kind, capacity: 10_000, ..buckets::settings("b") }
}

fn of(caller: &str) -> Submission {
    Submission { caller: Some(caller.to_owned()), ..buckets::job("x") }
}

fn all_of(caller: &str) -> JobFilter {
    JobFilter { caller: Some(caller.to_owned()), ..JobFilter::default() }
}

fn in_state(state: JobState) -> JobFilter {
    JobFilter { state: Some(state), ..JobFilter::default() }
}

async fn listed(bucket: &Bucket) -> BTreeSet<JobId> {
    bucket
        .jobs(&JobFilter::default(), None, 1000)
        .await
        .expect("Redis answers")
        .items
        .into_iter()
        .map(|job| job.id)
        .collect()
}

async fn is_sound(bucket: &Bucket) {
    let examined = bucket.examine(false).await.expect("Redis answers");
    assert!(examined.findings.is_empty() && examined.unchecked.is_empty(), "{examined:?}");
}

/// Jobs of other callers are queued before, between and after those of the flooding caller.
#[tokio::test]
async fn all_jobs_of_a_flooding_caller_go_and_those_of_others_stay() {
    let redis = TestRedis::start().await;
    for kind in KINDS {
        let name = kind.as_str().parse().unwrap();
        let bucket = open(&redis, BucketSettings { name, ..of_kind(kind) }).await;
        let callers = (0..FLOOD).map(|n| if n % 9 == 0 { "other" } else { "flood" });
        let jobs = bucket.admit_many(callers.clone().map(of).collect()).await;
        let ids: Vec<JobId> = jobs.into_iter().map(|job| admitted(job).id).collect();
        let replica = join(&bucket, "a").await;
        let held = take(&replica, 5).await;
        let (mut stay, mut go) = (BTreeSet::new(), BTreeSet::new());
        for (id, caller) in ids.into_iter().zip(callers) {
            let is_held = held.iter().any(|taken| taken.claim.id() == id);
            if is_held || caller == "other" { &mut stay } else { &mut go }.insert(id);
        }
        assert_eq!(held.len(), 5);

        assert_eq!(bucket.cancel_many(&all_of("nobody")).await.unwrap(), 0);
        let before = redis.calls("lrem").await;
        assert_eq!(bucket.cancel_many(&all_of("flood")).await.unwrap(), go.len() as u64);
        let walks = redis.calls("lrem").await - before;
        assert!(walks < 10, "{walks} walks over the list for {} jobs", go.len());
        assert_eq!(listed(&bucket).await, stay);
        let ended = bucket.outcomes(TimeWindow::default(), Some(Ending::Cancelled), None, 1000).await.unwrap();
        assert_eq!(ended.items.iter().map(|ended| ended.id).collect::<BTreeSet<_>>(), go);
        let outcome = &ended.items[0].outcome;
        assert_eq!((outcome.reason.as_deref(), outcome.caller.as_deref()), (Some("bulk cancel"), Some("flood")));
        is_sound(&bucket).await;

        for taken in held {
            assert_eq!(settle(&replica, taken, DELIVERED).await, SettleResult::Recorded);
        }
        assert_eq!(bucket.cancel_many(&all_of("flood")).await.unwrap(), 0);
        assert_eq!(bucket.cancel_many(&in_state(JobState::Waiting)).await.unwrap(), stay.len() as u64 - 5);
        assert_eq!(bucket.census().await.unwrap().level, 0);
        is_sound(&bucket).await;
    }
}

#[tokio::test]
async fn waiting_and_parked_jobs_are_cancelled_apart() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, of_kind(Kind::Stream)).await;
    let replica = join(&bucket, "a").await;
    let later = StartTime::After(Duration::from_hours(1));
    bucket.admit_many((0..FLOOD).map(|_| Submission { start: later, ..of("x") }).collect()).await;
    while bucket.census().await.unwrap().waiting > 0 {
        assert!(takes_nothing(&replica).await);
    }
    bucket.admit_many((0..FLOOD).map(|_| of("x")).collect()).await;
    for state in [JobState::InFlight, JobState::Ended(Ending::Delivered)] {
        assert_eq!(bucket.cancel_many(&in_state(state)).await.unwrap(), 0);
    }
    assert_eq!(bucket.cancel_many(&in_state(JobState::Parked)).await.unwrap(), FLOOD as u64);
    let census = bucket.census().await.unwrap();
    assert_eq!((census.waiting, census.parked), (FLOOD as u64, 0));
    assert_eq!(bucket.cancel_many(&in_state(JobState::Waiting)).await.unwrap(), FLOOD as u64);
    is_sound(&bucket).await;
}

#[tokio::test]
async fn a_list_has_nothing_parked_and_what_others_have_put_there_stays() {
    let redis = TestRedis::start().await;
    let (store, bucket) = (redis.store().await, open(&redis, of_kind(Kind::List)).await);
    submit(&bucket, of("x")).await;
    let mut push = redis::cmd("LPUSH");
    push.arg("dripfeed:{b}:jobs").arg("by hand");
    store.command::<u64>(&push).await.unwrap();
    assert_eq!(bucket.cancel_many(&in_state(JobState::Parked)).await.unwrap(), 0);
    assert_eq!(bucket.cancel_many(&in_state(JobState::Waiting)).await.unwrap(), 1);
    assert_eq!(bucket.census().await.unwrap().level, 1);
}

#[tokio::test]
async fn only_old_jobs_are_cancelled_by_age() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    for (kind, verb, place, entry) in [
        (Kind::Stream, "XADD", "1000-0", ["body", "x"].as_slice()),
        (Kind::List, "RPUSH", r#"{"id":"1000-0","body":"x","v":"1"}"#, [].as_slice()),
    ] {
        let name = kind.as_str().parse().unwrap();
        let bucket = open(&redis, BucketSettings { name, ..of_kind(kind) }).await;
        // The id of this job means that it was accepted in 1970.
        let mut add = redis::cmd(verb);
        add.arg(format!("dripfeed:{{{kind}}}:jobs", kind = kind.as_str())).arg(place).arg(entry);
        store.command::<redis::Value>(&add).await.unwrap();
        let young = submit(&bucket, of("x")).await.id;
        let older_than = |older_than| JobFilter { older_than: Some(older_than), ..JobFilter::default() };
        assert_eq!(bucket.cancel_many(&older_than(Duration::MAX)).await.unwrap(), 0);
        let hour = Duration::from_hours(1);
        let of_caller = JobFilter { older_than: Some(hour), ..all_of("x") };
        assert_eq!(bucket.cancel_many(&of_caller).await.unwrap(), 0, "a job has to match all");
        assert_eq!(bucket.cancel_many(&older_than(hour)).await.unwrap(), 1);
        assert_eq!(listed(&bucket).await, BTreeSet::from([young]));
        assert_eq!(bucket.cancel_many(&older_than(Duration::ZERO)).await.unwrap(), 1);
    }
}
