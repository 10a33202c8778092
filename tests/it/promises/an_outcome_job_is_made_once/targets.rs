//! Targets that are full, or unknown to a process, don't block the others.

use dripfeed_bucket::*;
use dripfeed_job::{Chain, Submission};
use dripfeed_tests::buckets::{self, DELIVERED, job, join, settle, submit, take};
use dripfeed_tests::redis_server::TestRedis;

use super::{hand_over, outbox, reporting, to};

/// How many outcome jobs one round reads at most.
const A_ROUND: usize = 1000;
const FEW: usize = 10;

fn with_outcomes(targets: &[&str]) -> BucketSettings {
    let targets = targets.iter().map(|target| to(target)).collect();
    BucketSettings { capacity: 2 * A_ROUND as u64, ..reporting("from", targets, 2 * A_ROUND as u64) }
}

async fn full(redis: &TestRedis, name: &str) -> Bucket {
    let full = buckets::open(redis, BucketSettings { capacity: 1, ..buckets::settings(name) }).await;
    submit(&full, job("x")).await;
    full
}

async fn roomy(redis: &TestRedis, name: &str) -> Bucket {
    buckets::open(redis, BucketSettings { capacity: 2 * A_ROUND as u64, ..buckets::settings(name) }).await
}

/// Ends this number of jobs, each of which has chosen this target.
async fn end_jobs_for(from: &Bucket, target: &str, jobs: usize) {
    let chain = Chain { depth: 0, targets: target.parse().ok() };
    let jobs: Vec<Submission> = (0..jobs).map(|_| Submission { chain: chain.clone(), ..job("x") }).collect();
    for admitted in from.admit_many(jobs).await {
        buckets::admitted(admitted);
    }
    let replica = join(from, "r").await;
    while from.census().await.expect("Redis answers").level > 0 {
        for taken in take(&replica, 100).await {
            settle(&replica, taken, DELIVERED).await;
        }
    }
    replica.leave().await.expect("Redis answers");
}

async fn level(bucket: &Bucket) -> u64 {
    bucket.census().await.expect("Redis answers").level
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_has_looked_through_many_for_an_unknown_target_lets_another_process_hand_over() {
    let redis = TestRedis::start().await;
    let from = buckets::open(&redis, with_outcomes(&["elsewhere", "full"])).await;
    let (elsewhere, full) = (roomy(&redis, "elsewhere").await, full(&redis, "full").await);
    end_jobs_for(&from, "elsewhere", A_ROUND).await;
    end_jobs_for(&from, "full", FEW).await;

    let (one_knows, other_knows) = (Buckets::new([full]), Buckets::new([elsewhere.clone()]));
    let [mut one, mut other] = [(); 2].map(|()| OutboxRelay::new(from.clone()));
    let mut ends = Vec::new();
    while ends.len() < 3 && !ends.contains(&HandOverResult::Unknown) {
        ends.push(one.hand_over(&one_knows).await.expect("Redis answers"));
    }
    hand_over(&mut other, &other_knows).await;
    assert_eq!(level(&elsewhere).await, A_ROUND as u64, "{ends:?}");
    assert_eq!(outbox(&redis, "from").await, FEW as u64);
}

/// Those that pass are queued behind more outcome jobs than are read at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_earlier_settings_have_left_passes_a_target_that_is_full() {
    let redis = TestRedis::start().await;
    let before = buckets::open(&redis, with_outcomes(&["full", "earlier"])).await;
    let (full, earlier) = (full(&redis, "full").await, roomy(&redis, "earlier").await);
    end_jobs_for(&before, "full", A_ROUND / 10).await;
    end_jobs_for(&before, "earlier", FEW).await;

    let now = buckets::open(&redis, with_outcomes(&["full"])).await;
    let mut courier = OutboxRelay::new(now);
    let end = hand_over(&mut courier, &Buckets::new([full, earlier.clone()])).await;
    assert!(matches!(end, HandOverResult::Waiting(_)), "{end:?}");
    assert_eq!(level(&earlier).await, FEW as u64);
}

/// The target gets no other jobs, whose submission would complete the interrupted step.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_whose_definition_or_deletion_was_interrupted_gets_its_outcome_jobs() {
    let redis = TestRedis::start().await;
    let from = buckets::open(&redis, with_outcomes(&["events"])).await;
    let events = buckets::defined(&redis, buckets::settings("events")).await;
    let (mut courier, targets) = (OutboxRelay::new(from.clone()), Buckets::new([events.clone()]));
    for (state, delivered) in [("defined", 1), ("about to be deleted", 2)] {
        end_jobs_for(&from, "events", 1).await;
        if delivered == 2 {
            buckets::suspend_long_ago(&redis, &events).await;
        }
        let ends = [hand_over(&mut courier, &targets).await, hand_over(&mut courier, &targets).await];
        assert_eq!(ends[1], HandOverResult::All, "{state}: {ends:?}");
        assert_eq!(level(&events).await, delivered, "{state}");
    }
}
