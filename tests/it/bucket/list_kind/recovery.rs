use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_tests::buckets::{DELIVERED, join, open, settle, take, take_one};
use dripfeed_tests::redis_server::TestRedis;

use super::{JOBS, bodies, elements, settings, submit_all};

#[tokio::test]
async fn a_dead_replicas_jobs_are_back_in_order_and_it_settles_nothing_more() {
    let redis = TestRedis::start().await;
    let (store, bucket) = (redis.store().await, open(&redis, settings()).await);
    submit_all(&bucket, &["1", "2", "3", "4"]).await;
    let lease = Duration::from_millis(300);
    let dead = bucket.join(Consumer::new("dead"), lease, JoinKind::First).await.unwrap();
    let mut taken = take(&dead, 3).await;
    let alive = bucket.join(Consumer::new("alive"), lease, JoinKind::First).await.unwrap();
    let mut beats = tokio::time::interval(alive.beat_interval());
    let recovered = loop {
        beats.tick().await;
        let found = alive.beat().await.unwrap();
        if found.recovered > 0 {
            break found.recovered;
        }
    };
    assert_eq!(recovered, 3);
    assert_eq!(settle(&dead, taken.remove(0), DELIVERED).await, SettleResult::Fenced);
    assert_eq!(settle(&dead, taken.remove(0), Settlement::Requeue).await, SettleResult::Fenced);
    assert!(matches!(dead.take(1).await.unwrap(), Take::Fenced));
    assert!(dead.beat().await.unwrap().fenced);

    let again = take(&alive, 10).await;
    assert_eq!(bodies(&again), [b"1", b"2", b"3", b"4"]);
    assert!(elements(&store, "dripfeed:{b}:taken:dead").await.is_empty());
    for taken in again {
        assert_eq!(settle(&alive, taken, DELIVERED).await, SettleResult::Recorded);
    }
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.bytes, census.recovered), (0, 0, 3));
    assert_eq!(census.replicas.len(), 1);
}

#[tokio::test]
async fn a_leaving_replica_requeues_its_jobs_in_order() {
    let redis = TestRedis::start().await;
    let (store, bucket) = (redis.store().await, open(&redis, settings()).await);
    submit_all(&bucket, &["1", "2", "3"]).await;
    let before = elements(&store, JOBS).await;
    let leaving = join(&bucket, "leaving").await;
    let taken = take(&leaving, 3).await;
    leaving.leave().await.unwrap();
    assert_eq!(elements(&store, JOBS).await, before);
    for taken in taken {
        assert_eq!(settle(&leaving, taken, DELIVERED).await, SettleResult::Fenced);
    }
    assert_eq!(bucket.census().await.unwrap().replicas, []);
}

#[tokio::test]
async fn jobs_of_a_take_without_an_answer_are_requeued() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings()).await;
    let replica = join(&bucket, "a").await;
    submit_all(&bucket, &["1", "2", "3"]).await;
    let held = take_one(&replica).await;
    // A suspended Redis executes pending commands when it resumes, also those of a client that has stopped waiting.
    redis.server.pause().unwrap();
    assert!(replica.take(2).await.is_err());
    redis.server.resume().unwrap();
    let mut taken = Vec::new();
    while taken.len() < 2 {
        match replica.take(5).await {
            Ok(Take::Jobs(jobs, _)) => taken.extend(jobs),
            Ok(Take::Idle(idle)) => replica.wait(&idle).await,
            Ok(Take::Fenced) => panic!("nobody declared it dead"),
            Err(error) => println!("Redis has just begun to answer: {error}"),
        }
    }
    assert_eq!(bodies(&taken), [b"2", b"3"]);
    for taken in taken.into_iter().chain([held]) {
        assert_eq!(settle(&replica, taken, DELIVERED).await, SettleResult::Recorded);
    }
    assert_eq!(bucket.census().await.unwrap().level, 0);
}

#[tokio::test]
async fn a_job_that_kills_its_processor_is_dead_lettered_after_a_bounded_number_of_deliveries() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, BucketSettings { deliveries: 2, ..settings() }).await;
    let poison = submit_all(&bucket, &["poison"]).await[0];
    let mut found = Vec::new();
    for consumer in ["a", "b"] {
        take_one(&join(&bucket, consumer).await).await;
        let recovery = bucket.declare_dead(&Consumer::new(consumer)).await.unwrap().unwrap();
        found.push((recovery.recovered, recovery.poisoned));
    }
    assert_eq!(found, [(1, 0), (0, 1)]);
    let letter = bucket.dead_letter(poison).await.unwrap().unwrap();
    assert_eq!((letter.body.as_ref(), letter.outcome.attempts), (b"poison".as_slice(), 2));
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.bytes, census.dead), (0, 0, 1));
}

#[tokio::test]
async fn an_orderly_end_clears_the_count_of_deliveries() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, BucketSettings { deliveries: 2, ..settings() }).await;
    submit_all(&bucket, &["x"]).await;
    for consumer in ["a", "b", "c"] {
        let replica = join(&bucket, consumer).await;
        settle(&replica, take_one(&replica).await, Settlement::Requeue).await;
        take_one(&replica).await;
        let recovery = bucket.declare_dead(replica.consumer()).await.unwrap().unwrap();
        assert_eq!((recovery.recovered, recovery.poisoned), (1, 0));
    }
}

/// The jobs are more than one script may read.
#[tokio::test]
async fn large_jobs_of_a_dead_replica_and_of_one_that_leaves_are_back() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings()).await;
    let large = "x".repeat(BATCH_BYTES * 3 / 5);
    let submitted = submit_all(&bucket, &[&large, "small", &large]).await;
    let take_all = async |consumer| {
        let (replica, mut taken) = (join(&bucket, consumer).await, Vec::new());
        while taken.len() < submitted.len() {
            taken.extend(take(&replica, submitted.len()).await);
        }
        assert_eq!(taken.iter().map(|taken| taken.claim.id()).collect::<Vec<_>>(), submitted);
        replica
    };
    let soon = Duration::from_secs(30);
    let dead = take_all("dead").await;
    let recovery = tokio::time::timeout(soon, bucket.declare_dead(dead.consumer())).await.expect("it ends");
    assert_eq!(recovery.unwrap().unwrap().recovered, 3);
    let leaving = take_all("leaving").await;
    tokio::time::timeout(soon, leaving.leave()).await.expect("it ends").unwrap();
    take_all("heir").await;
}
