use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::{Ending, JobState, Submission};
use dripfeed_tests::buckets::{
    self, DELIVERED, buried, changed, join, open, settle, submit, take, take_one, takes_nothing,
};
use dripfeed_tests::redis_server::TestRedis;

use super::{JOBS, bodies, body, elements, settings, state, submit_all};

/// Removes the checksum, which means nothing to a reader.
fn without_sum(element: &str) -> String {
    let (before, sum) = element.split_once(r#","sum":""#).expect("our own elements have a checksum");
    format!("{before}{}", &sum[r#"0123456789abcdef""#.len()..])
}

#[tokio::test]
async fn a_job_is_readable_in_the_list_taken_oldest_first_and_delivered() {
    let redis = TestRedis::start().await;
    let (store, bucket) = (redis.store().await, open(&redis, settings()).await);
    let first = submit(&bucket, Submission { caller: Some("alice".to_owned()), ..buckets::job(r#"{"n":1}"#) }).await;
    let second = submit(&bucket, buckets::job("two")).await;
    assert!(second.id > first.id);
    assert_eq!((second.level, second.capacity, second.repeated), (2, 100, false));
    assert_eq!(
        elements(&store, JOBS).await.iter().map(|element| without_sum(element)).collect::<Vec<_>>(),
        [
            format!(r#"{{"id":"{}","body":"two","v":"1"}}"#, second.id),
            format!(r#"{{"id":"{}","body":"{{\"n\":1}}","caller":"alice","v":"1"}}"#, first.id),
        ]
    );

    let replica = join(&bucket, "a").await;
    let taken = take_one(&replica).await;
    assert_eq!((taken.claim.id(), body(&taken)), (first.id, br#"{"n":1}"#.as_slice()));
    assert_eq!(elements(&store, "dripfeed:{b}:taken:a").await.len(), 1);
    let view = bucket.find(first.id).await.unwrap().unwrap();
    assert_eq!((view.state, view.attempts), (JobState::InFlight, 1));
    assert_eq!((view.consumer.as_deref(), view.caller.as_deref()), (Some("a"), Some("alice")));
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.waiting, census.in_flight, census.parked), (2, 1, 1, 0));
    assert_eq!(
        (census.replicas.len(), census.replicas[0].consumer.as_str(), census.replicas[0].in_flight),
        (1, "a", 1)
    );
    assert!(census.oldest_age.is_some() && census.bytes >= 10);

    assert_eq!(settle(&replica, taken, DELIVERED).await, SettleResult::Recorded);
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    assert_eq!(state(&bucket, first.id).await, Some(JobState::Ended(Ending::Delivered)));
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.bytes, census.accepted), (0, 0, 2));
    assert_eq!(bucket.report(Duration::from_hours(1)).await.unwrap().ended[0], (Ending::Delivered, 2));
    assert!(takes_nothing(&replica).await);
}

#[tokio::test]
async fn a_requeued_job_is_next_and_costs_no_attempt() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings()).await;
    let replica = join(&bucket, "a").await;
    submit_all(&bucket, &["1", "2"]).await;
    let taken = take_one(&replica).await;
    settle(&replica, taken, Settlement::Requeue).await;
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.waiting, census.in_flight), (2, 2, 0));
    let again = take_one(&replica).await;
    assert_eq!((body(&again), again.claim.failures()), (b"1".as_slice(), 0));

    settle(&replica, again, Settlement::Throttled { wait: Some(Duration::from_mins(1)) }).await;
    assert!(takes_nothing(&replica).await);
    assert_eq!(bucket.census().await.unwrap().pace.reason, "held");
}

#[tokio::test]
async fn a_held_bucket_goes_on_with_the_job_that_was_throttled() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings()).await;
    let replica = join(&bucket, "a").await;
    submit_all(&bucket, &["1", "2"]).await;
    let throttled = take_one(&replica).await;
    settle(&replica, throttled, Settlement::Throttled { wait: Some(Duration::from_millis(1)) }).await;
    let taken = loop {
        match replica.take(1).await.unwrap() {
            Take::Jobs(mut jobs, _) => break jobs.remove(0),
            Take::Idle(idle) => replica.wait(&idle).await,
            Take::Fenced => panic!("nobody declared it dead"),
        }
    };
    assert_eq!((body(&taken), taken.claim.failures()), (b"1".as_slice(), 0));
}

#[tokio::test]
async fn pace_pause_and_the_bound_in_flight_hold_over_all_replicas() {
    let redis = TestRedis::start().await;
    let mut settings = settings();
    settings.leak.rate = Some("1/h".parse().unwrap());
    settings.leak.burst = 4;
    settings.leak.max_in_flight = Some(3);
    let bucket = open(&redis, settings).await;
    submit_all(&bucket, &["1", "2", "3", "4", "5", "6"]).await;
    let (a, b) = (join(&bucket, "a").await, join(&bucket, "b").await);
    let held = take(&a, 2).await;
    assert_eq!((held.len(), take(&b, 5).await.len()), (2, 1));
    assert!(takes_nothing(&a).await);
    for taken in held {
        settle(&a, taken, DELIVERED).await;
    }
    assert_eq!(take(&a, 5).await.len(), 1, "room for two, a token for one");
    assert!(takes_nothing(&b).await);

    bucket.pause().await.unwrap();
    bucket.apply_overrides(&changed("leak.rate", "1000/s")).await.unwrap();
    assert!(takes_nothing(&b).await);
    bucket.resume().await.unwrap();
    let taken = loop {
        match b.take(5).await.unwrap() {
            Take::Jobs(jobs, _) => break jobs,
            Take::Idle(idle) => b.wait(&idle).await,
            Take::Fenced => panic!("nobody declared it dead"),
        }
    };
    assert_eq!(bodies(&taken), [b"5"]);
}

#[tokio::test]
async fn a_paced_list_is_counted_while_its_pace_has_a_state() {
    let redis = TestRedis::start().await;
    let mut settings = settings();
    settings.leak.rate = Some("1000/s".parse().unwrap());
    let bucket = open(&redis, settings).await;
    submit_all(&bucket, &["1", "2"]).await;
    let replica = join(&bucket, "a").await;
    let taken = take_one(&replica).await;
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.in_flight, census.waiting), (2, 1, 1));
    assert!(census.oldest_age.is_some(), "the oldest job is found among those of the replica");
    drop(taken);
}

#[tokio::test]
async fn a_job_past_its_deadline_is_not_started() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings()).await;
    let replica = join(&bucket, "a").await;
    let short = Submission { expires_in: Some(Duration::from_millis(1)), ..buckets::job("short") };
    let short = submit(&bucket, short).await.id;
    let long = Submission { expires_in: Some(Duration::from_mins(1)), ..buckets::job("long") };
    submit(&bucket, long).await;
    tokio::time::sleep(Duration::from_millis(3)).await;
    assert_eq!(bodies(&take(&replica, 5).await), [b"long"]);
    assert_eq!(replica.expired(), 1);
    assert_eq!(state(&bucket, short).await, Some(JobState::Ended(Ending::Expired)));
    assert_eq!(bucket.census().await.unwrap().level, 1);
}

#[tokio::test]
async fn at_maxmemory_jobs_are_still_taken_settled_and_recovered() {
    let redis = TestRedis::start().await;
    let (store, bucket) = (redis.store().await, open(&redis, settings()).await);
    let (a, b) = (join(&bucket, "a").await, join(&bucket, "b").await);
    submit_all(&bucket, &["1", "2", "3", "4"]).await;
    let mut limit = redis::cmd("CONFIG");
    limit.arg("SET").arg("maxmemory").arg(1);
    store.command::<()>(&limit).await.unwrap();
    assert!(bucket.admit(buckets::job("no memory")).await.is_err());
    let mut taken = take(&a, 4).await;
    settle(&a, taken.remove(0), DELIVERED).await;
    settle(&a, taken.remove(0), Settlement::Requeue).await;
    settle(&a, taken.remove(0), buried("no luck")).await;
    let recovery = bucket.declare_dead(a.consumer()).await.unwrap().unwrap();
    assert_eq!(recovery.recovered, 1);
    assert_eq!(bodies(&take(&b, 4).await), [b"4", b"2"]);
}
