//! Somebody has added an entry with the largest possible id to a stream of a bucket. Redis adds no entry after it, even
//! when it is deleted.

use dripfeed_bucket::*;
use dripfeed_tests::buckets::{self, DELIVERED, NO_FILTER, buried, job, join, settle, submit, take_one, takes_nothing};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::until;

const LARGEST: &str = "18446744073709551615-18446744073709551615";

async fn add(redis: &TestRedis, key: &str) {
    redis.ask::<String>(&format!("XADD dripfeed:{{b}}:{key} {LARGEST} body x")).await;
}

async fn remove(redis: &TestRedis, key: &str) {
    redis.ask::<u64>(&format!("XDEL dripfeed:{{b}}:{key} {LARGEST}")).await;
}

async fn found(bucket: &Bucket) -> Vec<(&'static str, u64)> {
    let findings = bucket.examine(false).await.unwrap().findings;
    findings.iter().map(|finding| (finding.kind.what(), finding.count)).collect()
}

#[tokio::test]
async fn a_bucket_accepts_jobs_again_once_it_is_empty() {
    let redis = TestRedis::start().await;
    let bucket = buckets::open(&redis, buckets::settings("b")).await;
    let replica = join(&bucket, "one").await;
    submit(&bucket, job("before")).await;
    add(&redis, "jobs").await;
    let [(what, 2)] = found(&bucket).await[..] else { panic!("{:?}", found(&bucket).await) };
    assert!(what.contains("largest possible id"), "{what}");
    let error = bucket.admit(job("next")).await.unwrap_err().to_string();
    assert!(error.contains("largest possible id") && error.contains("dripfeed doctor"), "{error}");
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    // The largest id has left the bucket, but is still the stream's last one, and the last delivered one of the group.
    let largest = take_one(&replica).await;
    submit_nothing(&bucket).await;
    settle(&replica, largest, DELIVERED).await;

    let next = submit(&bucket, job("next")).await;
    let taken = take_one(&replica).await;
    assert_eq!(taken.claim.id(), next.id);
    settle(&replica, taken, DELIVERED).await;
    assert_eq!(bucket.examine(false).await.unwrap(), Examination::default());
}

async fn submit_nothing(bucket: &Bucket) {
    assert!(bucket.admit(job("none")).await.is_err());
    assert_eq!(bucket.level().await.unwrap(), 1);
}

#[tokio::test]
async fn a_job_that_dies_waits_until_there_are_ids_for_its_letter() {
    let redis = TestRedis::start().await;
    let bucket = buckets::open(&redis, buckets::settings("b")).await;
    let replica = join(&bucket, "one").await;
    add(&redis, "dead").await;
    submit(&bucket, job("dies")).await;
    submit(&bucket, job("is delivered")).await;
    let (dies, delivered) = (take_one(&replica).await, take_one(&replica).await);
    let (dies, delivered) =
        tokio::join!(settle(&replica, dies, buried("no luck")), settle(&replica, delivered, DELIVERED));
    assert_eq!((dies, delivered), (SettleResult::WaitsForRoom, SettleResult::Recorded));
    assert!(takes_nothing(&replica).await);
    assert_eq!(bucket.level().await.unwrap(), 1);
    assert_eq!(bucket.dead_letters(&NO_FILTER, None, 10).await.unwrap().items.len(), 0);
    let kinds = found(&bucket).await;
    assert!(kinds.iter().any(|(what, count)| what.contains("largest possible id") && *count == 1), "{kinds:?}");

    // The doctor indexes a letter that somebody has added by hand.
    bucket.examine(true).await.unwrap();
    assert_eq!(bucket.delete_dead_many(&NO_FILTER).await.unwrap(), 1);
    assert!(takes_nothing(&replica).await);
    assert_eq!(bucket.level().await.unwrap(), 0);
    let letters = bucket.dead_letters(&NO_FILTER, None, 10).await.unwrap().items;
    assert_eq!(letters.iter().map(|letter| &letter.body[..]).collect::<Vec<_>>(), [b"dies"]);
    assert_eq!(bucket.examine(false).await.unwrap(), Examination::default());
}

#[tokio::test]
async fn a_job_of_a_list_stays_with_its_replica_until_there_are_ids_for_its_letter() {
    let redis = TestRedis::start().await;
    let bucket = buckets::open(&redis, BucketSettings { kind: Kind::List, ..buckets::settings("b") }).await;
    let replica = join(&bucket, "one").await;
    add(&redis, "dead").await;
    submit(&bucket, job("dies")).await;
    let dies = take_one(&replica).await;
    let settled = tokio::spawn({
        let replica = replica.clone();
        async move { settle(&replica, dies, buried("no luck")).await }
    });
    let begun = redis.calls("evalsha").await;
    until("it is tried again", async || redis.calls("evalsha").await > begun + 3).await;
    assert_eq!(bucket.level().await.unwrap(), 1);
    remove(&redis, "dead").await;
    assert_eq!(settled.await.unwrap(), SettleResult::Recorded);
    assert_eq!(bucket.dead_letters(&NO_FILTER, None, 10).await.unwrap().items.len(), 1);
}

#[tokio::test]
async fn outcome_jobs_and_audit_entries_are_added_all_the_same() {
    let redis = TestRedis::start().await;
    let target = OutcomeTarget { bucket: "events".parse().unwrap(), outcomes: vec![dripfeed_job::Ending::Delivered] };
    let on_outcome = OnOutcome { targets: vec![target], most: 1000, bytes: 1 << 20 };
    let bucket = buckets::open(&redis, BucketSettings { on_outcome, ..buckets::settings("b") }).await;
    let replica = join(&bucket, "one").await;
    let deliver = async || {
        submit(&bucket, job("x")).await;
        settle(&replica, take_one(&replica).await, DELIVERED).await
    };
    deliver().await;
    for key in ["outbox", "audit"] {
        add(&redis, key).await;
    }
    let before: Vec<(String, Vec<String>)> = redis.ask("XRANGE dripfeed:{b}:outbox - +").await;
    assert_eq!(deliver().await, SettleResult::Recorded);
    bucket.record(None, "pause", "").await.unwrap();
    let after: Vec<(String, Vec<String>)> = redis.ask("XRANGE dripfeed:{b}:outbox - +").await;
    assert_eq!((after.len(), &after[0], &after[1].1), (3, &before[0], &before[1].1), "the others keep their ids");
    let counted = OutboxRelay::new(bucket.clone()).count().await.unwrap().unwrap();
    assert_eq!((counted.jobs.values().sum::<u64>(), counted.unreadable), (2, 1));
    let trail = bucket.audit_trail().await.unwrap();
    assert_eq!(trail.iter().map(|entry| entry.action.as_str()).collect::<Vec<_>>(), ["pause", ""]);
    // The same with an empty stream.
    for key in ["outbox", "audit"] {
        redis.ask::<u64>(&format!("XTRIM dripfeed:{{b}}:{key} MAXLEN 0")).await;
        add(&redis, key).await;
        remove(&redis, key).await;
    }
    assert_eq!(deliver().await, SettleResult::Recorded);
    bucket.record(None, "resume", "").await.unwrap();
}
