//! Jobs that wait for their turn are found, listed, cancelled and purged like others.

use std::collections::BTreeMap;
use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::{JobState, StartTime, Submission};
use dripfeed_tests::buckets::{DELIVERED, join, settle, submit, take, take_one, takes_nothing};
use dripfeed_tests::redis_server::TestRedis;

use super::{call, flood, of, open};

/// How many jobs are in each state, by the list and by looking up each job.
async fn states(bucket: &Bucket) -> BTreeMap<String, usize> {
    let mut states = BTreeMap::new();
    let mut cursor = None;
    loop {
        let page = bucket.jobs(&JobFilter::default(), cursor.as_ref(), 100).await.unwrap();
        for job in page.items {
            assert_eq!(bucket.find(job.id).await.unwrap().unwrap().state, job.state);
            *states.entry(job.state.as_str().to_owned()).or_default() += 1;
        }
        cursor = page.next;
        if cursor.is_none() {
            return states;
        }
    }
}

async fn listed(bucket: &Bucket, state: JobState) -> usize {
    let (mut listed, mut cursor) = (0, None);
    loop {
        let page = bucket.jobs(&JobFilter::of_state(state), cursor.as_ref(), 100).await.unwrap();
        assert!(page.items.iter().all(|job| job.state == state));
        listed += page.items.len();
        cursor = page.next;
        if cursor.is_none() {
            return listed;
        }
    }
}

/// A bucket with jobs of two callers: some in flight, some requeued, some delayed.
async fn mixed(redis: &TestRedis) -> (Bucket, Replica, Vec<ClaimedJob>) {
    let bucket = open(redis).await;
    let replica = join(&bucket, "a").await;
    flood(&bucket, "a", 100).await;
    flood(&bucket, "b", 100).await;
    let delayed = Submission { start: StartTime::After(Duration::from_hours(1)), ..of("b", "later") };
    submit(&bucket, delayed).await;
    for taken in take(&replica, 20).await {
        settle(&replica, taken, Settlement::Requeue).await;
    }
    let held = take(&replica, 5).await;
    (bucket, replica, held)
}

#[tokio::test]
async fn each_job_is_shown_in_its_state() {
    let redis = TestRedis::start().await;
    let (bucket, _replica, held) = mixed(&redis).await;
    assert_eq!(held.len(), 5);
    let expected = [("in_flight", 5), ("parked", 1), ("waiting", 195)];
    assert_eq!(states(&bucket).await, expected.map(|(state, jobs)| (state.to_owned(), jobs)).into());
    for (state, jobs) in [(JobState::InFlight, 5), (JobState::Parked, 1), (JobState::Waiting, 195)] {
        assert_eq!(listed(&bucket, state).await, jobs, "{state:?}");
    }
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.waiting, census.in_flight, census.parked), (201, 195, 5, 1));
    assert_eq!(bucket.examine(false).await.unwrap(), Examination::default());
}

#[tokio::test]
async fn a_purge_leaves_what_is_in_flight_and_forgets_the_flows() {
    let redis = TestRedis::start().await;
    let (bucket, replica, held) = mixed(&redis).await;
    assert_eq!(bucket.purge().await.unwrap(), 196);
    assert_eq!(redis.ask::<u64>("EXISTS dripfeed:{b}:flows dripfeed:{b}:ranges").await, 0);
    assert!(takes_nothing(&replica).await);
    for taken in held {
        settle(&replica, taken, DELIVERED).await;
    }
    assert_eq!(bucket.census().await.unwrap().level, 0);
}

#[tokio::test]
async fn a_purge_after_what_waited_was_deleted_by_hand_forgets_that_it_was_sorted_in() {
    let redis = TestRedis::start().await;
    let (bucket, _replica, _held) = mixed(&redis).await;
    let waiting = bucket.jobs(&JobFilter::of_state(JobState::Waiting), None, 1000).await.unwrap().items;
    let ids: Vec<String> = waiting.iter().map(|job| job.id.to_string()).collect();
    let deleted = redis.ask::<usize>(&format!("XDEL dripfeed:{{b}}:jobs {}", ids.join(" "))).await;
    assert_eq!((deleted, redis.ask::<u64>("HEXISTS dripfeed:{b}:flow-state sorted").await), (195, 1));
    assert_eq!(bucket.purge().await.unwrap(), 1);
    assert_eq!(redis.ask::<u64>("EXISTS dripfeed:{b}:flows dripfeed:{b}:ranges").await, 0);
    assert_eq!(redis.ask::<u64>("HEXISTS dripfeed:{b}:flow-state sorted").await, 0);
}

#[tokio::test]
async fn a_job_is_cancelled_while_it_waits_for_its_turn() {
    let redis = TestRedis::start().await;
    let (bucket, replica, held) = mixed(&redis).await;
    assert_eq!(bucket.cancel(held[0].claim.id()).await.unwrap(), CancelResult::InFlight);
    let mut cancelled = 0;
    for job in bucket.jobs(&JobFilter::of_state(JobState::Waiting), None, 40).await.unwrap().items {
        assert_eq!(bucket.cancel(job.id).await.unwrap(), CancelResult::Cancelled);
        cancelled += 1;
    }
    assert_eq!(cancelled, 40);
    assert_eq!(call(&replica, 10, 155).await.len(), 155);
    assert_eq!(bucket.census().await.unwrap().level, 6);
}

#[tokio::test]
async fn those_of_one_caller_are_cancelled_together() {
    let redis = TestRedis::start().await;
    let (bucket, replica, held) = mixed(&redis).await;
    let of_b = held.iter().filter(|taken| super::caller_of(taken) == "b").count();
    let filter = JobFilter { caller: Some("b".to_owned()), state: Some(JobState::Waiting), ..JobFilter::default() };
    assert_eq!(bucket.cancel_many(&filter).await.unwrap(), u64::try_from(100 - of_b).unwrap());
    let a = 100 - (5 - of_b);
    assert!(call(&replica, 10, a).await.iter().all(|(caller, _)| caller == "a"));
}

#[tokio::test]
async fn a_delayed_job_is_called_when_its_time_comes() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis).await;
    let replica = join(&bucket, "a").await;
    flood(&bucket, "a", 100).await;
    let delayed = Submission { start: StartTime::After(Duration::from_millis(300)), ..of("b", "later") };
    let delayed = submit(&bucket, delayed).await;
    let taken = take_one(&replica).await;
    assert_ne!(taken.claim.id(), delayed.id);
    settle(&replica, taken, DELIVERED).await;
    assert_eq!(call(&replica, 10, 100).await.iter().filter(|(caller, _)| caller == "b").count(), 1);
}
