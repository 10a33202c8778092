use std::collections::HashSet;
use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_job::{JobState, StartTime, Submission};
use dripfeed_store::Store;
use dripfeed_tests::buckets::{self, DELIVERED, admitted, buried, join, open, refused, settle, submit, take, take_one};
use dripfeed_tests::redis_server::TestRedis;

use super::{JOBS, bodies, body, push, settings, state};

/// Jobs in the list and in a replica's own, counted at one moment.
async fn in_lists(store: &Store, consumer: &str) -> u64 {
    let mut count = redis::cmd("EVAL");
    count.arg("return redis.call('LLEN', KEYS[1]) + redis.call('LLEN', KEYS[2])").arg(2);
    count.arg(JOBS).arg(format!("dripfeed:{{b}}:taken:{consumer}"));
    store.command(&count).await.expect("Redis answers")
}

#[tokio::test]
async fn the_bound_is_exact_for_writers_at_once_also_while_jobs_are_in_flight() {
    const CAPACITY: u64 = 20;
    let redis = TestRedis::start().await;
    let settings = BucketSettings { capacity: CAPACITY, ..settings() };
    let intakes = [open(&redis, settings.clone()).await, open(&redis, settings).await];
    let (store, bucket) = (redis.store().await, intakes[0].clone());
    let replica = join(&bucket, "a").await;
    let writers: Vec<_> = (0..16)
        .map(|n| {
            let intake = intakes[n % 2].clone();
            tokio::spawn(async move {
                let mut accepted = 0;
                for _ in 0..100 {
                    match intake.admit(buckets::job("x")).await.unwrap() {
                        Admission::Admitted(admitted) => {
                            assert!(admitted.level <= CAPACITY);
                            accepted += 1;
                        }
                        Admission::Refused(refused) => {
                            assert_eq!((refused.reason, refused.capacity), (RefusalReason::BucketFull, CAPACITY));
                            assert!(refused.retry_after.is_some());
                        }
                    }
                }
                accepted
            })
        })
        .collect();
    let mut held = Vec::new();
    while writers.iter().any(|writer| !writer.is_finished()) {
        assert!(in_lists(&store, "a").await <= CAPACITY);
        if let Take::Jobs(jobs, _) = replica.take(7).await.unwrap() {
            held.extend(jobs);
        }
        for taken in held.drain(held.len().min(3)..) {
            settle(&replica, taken, DELIVERED).await;
        }
    }
    let mut accepted = 0;
    for writer in writers {
        accepted += writer.await.unwrap();
    }
    let census = bucket.census().await.unwrap();
    let refusals: u64 = census.refused.iter().map(|(_, count)| count).sum();
    assert_eq!((census.accepted, census.accepted + refusals), (accepted, 1600));
    assert_eq!(census.level, accepted - census.ended[0].1);
    assert_eq!(census.level, in_lists(&store, "a").await);
}

#[tokio::test]
async fn room_is_refused_by_bytes_and_returned_to_the_byte() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, BucketSettings { capacity_bytes: 150, ..settings() }).await;
    let replica = join(&bucket, "a").await;
    submit(&bucket, buckets::job("x".repeat(60))).await;
    assert_eq!(refused(bucket.admit(buckets::job("x".repeat(60))).await).reason, RefusalReason::BucketFull);
    assert_eq!(refused(bucket.admit(buckets::job("x".repeat(160))).await).reason, RefusalReason::NeverFits);
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    let raw = Submission { body: b"\x00\xff\"/".as_slice().into(), ..Submission::default() };
    submit(&bucket, raw).await;
    let taken = take_one(&replica).await;
    assert_eq!(body(&taken), b"\x00\xff\"/");
    settle(&replica, taken, buried("no luck")).await;
    assert_eq!(bucket.census().await.unwrap().bytes, 0);
}

#[tokio::test]
async fn one_key_makes_one_job() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings()).await;
    let keyed = |body: &str| Submission { idempotency_key: IdempotencyKey::parse("k").ok(), ..buckets::job(body) };
    let answers = bucket.admit_many((0..100).map(|_| keyed("same")).collect()).await;
    let ids: HashSet<_> = answers.into_iter().map(|answer| admitted(answer).id).collect();
    assert_eq!(ids.len(), 1);
    assert_eq!(refused(bucket.admit(keyed("other")).await).reason, RefusalReason::IdempotencyConflict);
    assert_eq!(bucket.census().await.unwrap().level, 1);
}

#[tokio::test]
async fn a_plain_push_is_a_job_and_what_is_no_job_is_buried_whole() {
    let redis = TestRedis::start().await;
    let (store, bucket) = (redis.store().await, open(&redis, settings()).await);
    let replica = join(&bucket, "a").await;
    let foreign: [&[u8]; 5] = [br#"{"n":"a/b"}"#, b"\xff\x00", b"", br#"{"id":"01-0","body":"x"}"#, br#"{"id":"1-0"}"#];
    for text in foreign {
        push(&store, text).await;
    }
    assert_eq!(bucket.census().await.unwrap().level, 5);
    assert!(bucket.jobs(&JobFilter::default(), None, 10).await.unwrap().items.is_empty(), "they have no id yet");
    let taken = take(&replica, 10).await;
    assert_eq!(bodies(&taken), foreign);
    let ids: HashSet<_> = taken.iter().map(|taken| taken.claim.id()).collect();
    assert_eq!(ids.len(), 5);
    for id in ids {
        assert_eq!(state(&bucket, id).await, Some(JobState::InFlight));
    }
    for taken in taken {
        settle(&replica, taken, DELIVERED).await;
    }

    push(&store, br#"{"id":"1-0","body":["#).await;
    let broken = take_one(&replica).await;
    let (id, reason) = (broken.claim.id(), broken.job.as_ref().unwrap_err().to_string());
    let unreadable = Settlement::Bury { reason, status: None, answer: None, called: false };
    settle(&replica, broken, unreadable).await;
    let letter = bucket.dead_letter(id).await.unwrap().unwrap();
    assert_eq!(letter.body.as_ref(), br#"{"body":["#);
    assert_eq!(letter.outcome.reason.as_deref(), Some("the element isn't a JSON object with string members"));
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.bytes, census.dead), (0, 0, 1));
}

#[tokio::test]
async fn options_that_a_list_does_not_support_are_refused() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings()).await;
    let delayed = Submission { start: StartTime::After(Duration::from_secs(1)), ..buckets::job("x") };
    let refusal = bucket.admit(delayed).await.unwrap_err();
    assert_eq!(refusal.to_string(), "a bucket of kind `list` doesn't support delayed jobs; use kind `stream`");
    let retried = Submission { retries: Some(1), ..buckets::job("x") };
    assert!(matches!(bucket.admit(retried).await, Err(BucketError::Unsupported("retries"))));
    let rate = "1/s".parse().ok();
    assert!(matches!(bucket.replay_many(&DeadFilter::default(), rate).await, Err(BucketError::Unsupported(_))));
    assert_eq!(bucket.census().await.unwrap().level, 0);

    submit(&bucket, Submission { retries: Some(0), ..buckets::job("x") }).await;
    let replica = join(&bucket, "a").await;
    let failed = take_one(&replica).await;
    let id = failed.claim.id();
    settle(&replica, failed, Settlement::Retry { after: Duration::ZERO }).await;
    let letter = bucket.dead_letter(id).await.unwrap().unwrap();
    assert_eq!(letter.outcome.reason.as_deref(), Some("the attempt failed, and a list bucket doesn't retry"));
}
