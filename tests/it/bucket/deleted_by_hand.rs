//! Entries that somebody deletes by hand are no longer counted: soon if all were deleted, else as the others leave.

use dripfeed_bucket::*;
use dripfeed_job::JobState;
use dripfeed_tests::buckets::{
    self, DELIVERED, NO_FILTER, admitted, buried, job, join, settle, submit, take_one, takes_nothing,
};
use dripfeed_tests::redis_server::TestRedis;

const KINDS: [Kind; 2] = [Kind::Stream, Kind::List];

async fn bury(bucket: &Bucket, replica: &Replica, letters: usize) {
    for _ in 0..letters {
        submit(bucket, job("x".repeat(1000))).await;
        settle(replica, take_one(replica).await, buried("no luck")).await;
    }
}

#[tokio::test]
async fn a_bucket_without_jobs_has_room_for_all_its_bytes() {
    for kind in KINDS {
        let redis = TestRedis::start().await;
        let settings = BucketSettings { kind, capacity_bytes: 10_000, ..buckets::settings("b") };
        let bucket = buckets::open(&redis, settings).await;
        for _ in 0..9 {
            submit(&bucket, job("x".repeat(1000))).await;
        }
        redis.ask::<u64>("DEL dripfeed:{b}:jobs").await;
        for _ in 0..9 {
            admitted(bucket.admit(job("x".repeat(1000))).await);
        }
        let kinds = bucket.examine(false).await.unwrap().findings;
        let is_miscounted = kinds.iter().any(|finding| finding.kind == FindingKind::BytesMiscounted);
        assert!(!is_miscounted, "{kind:?}: {kinds:?}");
    }
}

#[tokio::test]
async fn a_letter_is_replayed_into_a_bucket_without_jobs() {
    for kind in KINDS {
        let redis = TestRedis::start().await;
        let settings = BucketSettings { kind, capacity_bytes: 10_000, ..buckets::settings("b") };
        let bucket = buckets::open(&redis, settings).await;
        let replica = join(&bucket, "one").await;
        bury(&bucket, &replica, 1).await;
        let died = bucket.dead_letters(&NO_FILTER, None, 1).await.unwrap().items[0].id;
        for _ in 0..9 {
            submit(&bucket, job("x".repeat(1000))).await;
        }
        redis.ask::<u64>("DEL dripfeed:{b}:jobs").await;
        let replayed = bucket.replay(died).await.unwrap();
        assert!(matches!(&replayed, ReplayResult::As(new) if new.level == 1), "{kind:?}: {replayed:?}");
        let kinds = bucket.examine(false).await.unwrap().findings;
        let is_miscounted = kinds.iter().any(|finding| finding.kind == FindingKind::BytesMiscounted);
        assert!(!is_miscounted, "{kind:?}: {kinds:?}");
    }
}

#[tokio::test]
async fn dead_letters_that_are_gone_hold_nothing_up() {
    let redis = TestRedis::start().await;
    let mut settings = buckets::settings("b");
    (settings.keep.dead_bytes, settings.keep.when_dead_full) = (3000, WhenDeadFull::Hold);
    let bucket = buckets::open(&redis, settings).await;
    let replica = join(&bucket, "one").await;
    bury(&bucket, &replica, 3).await;
    submit(&bucket, job("next")).await;
    assert!(takes_nothing(&replica).await);
    redis.ask::<u64>("DEL dripfeed:{b}:dead").await;
    bucket.enforce_retention().await.unwrap();
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    let census = bucket.census().await.unwrap();
    assert_eq!((census.dead, census.dead_bytes, census.pace.reason), (0, 0, "no_rate"));
    assert_eq!(bucket.examine(false).await.unwrap(), Examination::default());
}

#[tokio::test]
async fn letters_that_are_gone_cost_others_no_room() {
    let redis = TestRedis::start().await;
    let mut settings = buckets::settings("b");
    settings.keep.dead_bytes = 5000;
    let bucket = buckets::open(&redis, settings).await;
    let replica = join(&bucket, "one").await;
    bury(&bucket, &replica, 4).await;
    let letters: Vec<String> = redis.ask("ZRANGE dripfeed:{b}:dead:sizes 0 2").await;
    for letter in letters {
        let id = letter.split(' ').next().unwrap();
        assert_eq!(redis.ask::<u64>(&format!("XDEL dripfeed:{{b}}:dead {id}")).await, 1);
    }
    bury(&bucket, &replica, 3).await;
    let census = bucket.census().await.unwrap();
    assert_eq!((census.dead, census.dead_dropped), (4, 0), "those that are gone made room");
    assert_eq!(bucket.examine(false).await.unwrap(), Examination::default());
}

#[tokio::test]
async fn outcome_jobs_that_are_gone_hold_nothing_up() {
    let redis = TestRedis::start().await;
    let target = OutcomeTarget { bucket: "events".parse().unwrap(), outcomes: vec![dripfeed_job::Ending::Delivered] };
    let on_outcome = OnOutcome { targets: vec![target], most: 10_000, bytes: 20_000 };
    let bucket = buckets::open(&redis, BucketSettings { on_outcome, ..buckets::settings("b") }).await;
    let replica = join(&bucket, "one").await;
    let reason = async || bucket.census().await.unwrap().pace.reason;
    while reason().await != "outbox_full" {
        submit(&bucket, job("x")).await;
        settle(&replica, take_one(&replica).await, DELIVERED).await;
    }
    redis.ask::<u64>("XTRIM dripfeed:{b}:outbox MAXLEN 0").await;
    assert_eq!(reason().await, "outbox_full", "bytes are counted yet");
    bucket.enforce_retention().await.unwrap();
    assert_eq!(reason().await, "no_rate");
    submit(&bucket, job("x")).await;
    settle(&replica, take_one(&replica).await, DELIVERED).await;
}

#[tokio::test]
async fn outcomes_that_are_gone_cost_others_no_room() {
    let redis = TestRedis::start().await;
    let mut settings = buckets::settings("b");
    settings.keep.outcomes_bytes = 1000;
    let bucket = buckets::open(&redis, settings).await;
    let replica = join(&bucket, "one").await;
    let deliver = async |jobs: usize| {
        for _ in 0..jobs {
            submit(&bucket, job("x")).await;
            settle(&replica, take_one(&replica).await, DELIVERED).await;
        }
    };
    deliver(50).await;
    let before: u64 = redis.ask("HLEN dripfeed:{b}:outcomes").await;
    redis.ask::<u64>("DEL dripfeed:{b}:outcomes").await;
    deliver(5).await;
    assert!(before > 5, "{before}");
    assert_eq!(redis.ask::<u64>("HLEN dripfeed:{b}:outcomes").await, 5);
}

/// No range in Redis can begin after the largest id, but each reader asks for what follows the last entry.
#[tokio::test]
async fn an_entry_with_the_largest_id_ends_a_list_a_purge_and_an_examination() {
    const LARGEST: &str = "18446744073709551615-18446744073709551615";
    let redis = TestRedis::start().await;
    let bucket = buckets::open(&redis, buckets::settings("b")).await;
    let add = async |id: &str| redis.ask::<String>(&format!("XADD dripfeed:{{b}}:jobs {id} body x")).await;
    add("5-1").await;
    add(LARGEST).await;
    for state in [None, Some(JobState::Waiting)] {
        let filter = JobFilter { state, ..JobFilter::default() };
        let page = bucket.jobs(&filter, None, 10).await.unwrap();
        assert_eq!((page.items.len(), page.next), (2, None), "{state:?}");
    }
    let kinds = bucket.examine(false).await.unwrap().findings;
    assert!(matches!(kinds[..], [Finding { kind: FindingKind::NoIdsForJobs, count: 2, .. }]), "{kinds:?}");
    bucket.enforce_retention().await.unwrap();
    assert_eq!(bucket.purge().await.unwrap(), 2);
    assert_eq!(bucket.level().await.unwrap(), 0);
    assert!(bucket.jobs(&JobFilter::default(), None, 10).await.unwrap().items.is_empty());
    assert_eq!(bucket.examine(true).await.unwrap(), Examination::default());
}
