//! A bucket of kind `list`: the journeys that a list can make, and what it refuses, over a real Redis.

use std::collections::HashSet;
use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_job::{Ending, JobId, Start, State, Submission};
use dripfeed_store::Store;
use dripfeed_tests::buckets::{
    self, DELIVERED, admitted, buried, join, open, refused, settle, submit, take, take_one, takes_nothing,
};
use dripfeed_tests::redis_server::TestRedis;

const JOBS: &str = "dripfeed:{b}:jobs";

fn settings() -> BucketSettings {
    BucketSettings { kind: Kind::List, ..buckets::settings("b") }
}

/// Submits a job for each body, in this order.
async fn submit_all(bucket: &Bucket, bodies: &[&str]) -> Vec<JobId> {
    let mut ids = Vec::new();
    for body in bodies {
        ids.push(submit(bucket, buckets::job(*body)).await.id);
    }
    ids
}

async fn state(bucket: &Bucket, id: JobId) -> Option<State> {
    bucket.find(id).await.expect("Redis answers").map(|job| job.state)
}

fn body(taken: &Taken) -> &[u8] {
    taken.job.as_ref().expect("a job").body.as_ref()
}

fn bodies(taken: &[Taken]) -> Vec<&[u8]> {
    taken.iter().map(body).collect()
}

/// The elements as `redis-cli LRANGE` shows them, newest first.
async fn elements(store: &Store, key: &str) -> Vec<String> {
    let mut range = redis::cmd("LRANGE");
    range.arg(key).arg(0).arg(-1);
    store.command(&range).await.expect("a list of texts")
}

/// A checksum says nothing to a reader.
fn without_sum(element: &str) -> String {
    let (before, sum) = element.split_once(r#","sum":""#).expect("our own elements have a checksum");
    format!("{before}{}", &sum[r#"0123456789abcdef""#.len()..])
}

/// Jobs in the list and in a replica's own, counted at one moment.
async fn in_lists(store: &Store, consumer: &str) -> u64 {
    let mut count = redis::cmd("EVAL");
    count.arg("return redis.call('LLEN', KEYS[1]) + redis.call('LLEN', KEYS[2])").arg(2);
    count.arg(JOBS).arg(format!("dripfeed:{{b}}:taken:{consumer}"));
    store.command(&count).await.expect("Redis answers")
}

async fn push(store: &Store, element: &[u8]) {
    let mut push = redis::cmd("LPUSH");
    push.arg(JOBS).arg(element);
    store.command::<()>(&push).await.expect("Redis answers");
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
    assert_eq!((view.state, view.attempts), (State::InFlight, 1));
    assert_eq!((view.consumer.as_deref(), view.caller.as_deref()), (Some("a"), Some("alice")));
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.waiting, census.in_flight, census.parked), (2, 1, 1, 0));
    assert_eq!(census.replicas, [ReplicaCensus { consumer: "a".to_owned(), in_flight: 1 }]);
    assert!(census.oldest_age.is_some() && census.bytes >= 10);

    assert_eq!(settle(&replica, taken, DELIVERED).await, Settled::Recorded);
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    assert_eq!(state(&bucket, first.id).await, Some(State::Ended(Ending::Delivered)));
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.bytes, census.accepted), (0, 0, 2));
    assert_eq!(bucket.report(Duration::from_hours(1)).await.unwrap().ended[0], (Ending::Delivered, 2));
    assert!(takes_nothing(&replica).await);
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
                            assert_eq!((refused.reason, refused.capacity), (Reason::BucketFull, CAPACITY));
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
        if let Take::Jobs(jobs) = replica.take(7).await.unwrap() {
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
async fn room_is_refused_by_bytes_and_given_back_to_the_byte() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, BucketSettings { capacity_bytes: 150, ..settings() }).await;
    let replica = join(&bucket, "a").await;
    submit(&bucket, buckets::job("x".repeat(60))).await;
    assert_eq!(refused(bucket.admit(buckets::job("x".repeat(60))).await).reason, Reason::BucketFull);
    assert_eq!(refused(bucket.admit(buckets::job("x".repeat(160))).await).reason, Reason::NeverFits);
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
    assert_eq!(refused(bucket.admit(keyed("other")).await).reason, Reason::IdempotencyConflict);
    assert_eq!(bucket.census().await.unwrap().level, 1);
}

#[tokio::test]
async fn what_is_given_back_is_next_and_costs_no_attempt() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings()).await;
    let replica = join(&bucket, "a").await;
    submit_all(&bucket, &["1", "2"]).await;
    let taken = take_one(&replica).await;
    settle(&replica, taken, Settlement::GiveBack).await;
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.waiting, census.in_flight), (2, 2, 0));
    let again = take_one(&replica).await;
    assert_eq!((body(&again), again.claim.failures()), (b"1".as_slice(), 0));

    settle(&replica, again, Settlement::Hold { wait: Some(Duration::from_mins(1)) }).await;
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
    settle(&replica, throttled, Settlement::Hold { wait: Some(Duration::from_millis(1)) }).await;
    let taken = loop {
        match replica.take(1).await.unwrap() {
            Take::Jobs(mut jobs) => break jobs.remove(0),
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

    let leak = LeakChanges { rate: Some(Some("1000/s".parse().unwrap())), ..LeakChanges::default() };
    bucket.pause().await.unwrap();
    bucket.change(&Changes { leak, ..Changes::default() }).await.unwrap();
    assert!(takes_nothing(&b).await);
    bucket.resume().await.unwrap();
    let taken = loop {
        match b.take(5).await.unwrap() {
            Take::Jobs(jobs) => break jobs,
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
async fn a_dead_replicas_jobs_are_back_in_order_and_it_settles_nothing_more() {
    let redis = TestRedis::start().await;
    let (store, bucket) = (redis.store().await, open(&redis, settings()).await);
    submit_all(&bucket, &["1", "2", "3", "4"]).await;
    let lease = Duration::from_millis(300);
    let dead = bucket.join(Consumer::new("dead"), lease, Life::First).await.unwrap();
    let mut taken = take(&dead, 3).await;
    let alive = bucket.join(Consumer::new("alive"), lease, Life::First).await.unwrap();
    let mut beats = tokio::time::interval(alive.beat_interval());
    let recovered = loop {
        beats.tick().await;
        let found = alive.beat().await.unwrap();
        if found.recovered > 0 {
            break found.recovered;
        }
    };
    assert_eq!(recovered, 3);
    assert_eq!(settle(&dead, taken.remove(0), DELIVERED).await, Settled::Fenced);
    assert_eq!(settle(&dead, taken.remove(0), Settlement::GiveBack).await, Settled::Fenced);
    assert!(matches!(dead.take(1).await.unwrap(), Take::Fenced));
    assert!(dead.beat().await.unwrap().fenced);

    let again = take(&alive, 10).await;
    assert_eq!(bodies(&again), [b"1", b"2", b"3", b"4"]);
    assert!(elements(&store, "dripfeed:{b}:taken:dead").await.is_empty());
    for taken in again {
        assert_eq!(settle(&alive, taken, DELIVERED).await, Settled::Recorded);
    }
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.bytes, census.recovered), (0, 0, 3));
    assert_eq!(census.replicas.len(), 1);
}

#[tokio::test]
async fn a_leaving_replica_gives_its_jobs_back_in_order() {
    let redis = TestRedis::start().await;
    let (store, bucket) = (redis.store().await, open(&redis, settings()).await);
    submit_all(&bucket, &["1", "2", "3"]).await;
    let before = elements(&store, JOBS).await;
    let leaving = join(&bucket, "leaving").await;
    let taken = take(&leaving, 3).await;
    leaving.leave().await.unwrap();
    assert_eq!(elements(&store, JOBS).await, before);
    for taken in taken {
        assert_eq!(settle(&leaving, taken, DELIVERED).await, Settled::Fenced);
    }
    assert_eq!(bucket.census().await.unwrap().replicas, []);
}

#[tokio::test]
async fn what_was_taken_without_an_answer_is_given_back() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings()).await;
    let replica = join(&bucket, "a").await;
    submit_all(&bucket, &["1", "2", "3"]).await;
    let held = take_one(&replica).await;
    // A Redis that stands still carries out what it was asked when it goes on, also for who has given up waiting.
    redis.server.pause().unwrap();
    assert!(replica.take(2).await.is_err());
    redis.server.resume().unwrap();
    let mut taken = Vec::new();
    while taken.len() < 2 {
        match replica.take(5).await {
            Ok(Take::Jobs(jobs)) => taken.extend(jobs),
            Ok(Take::Idle(idle)) => replica.wait(&idle).await,
            Ok(Take::Fenced) => panic!("nobody declared it dead"),
            Err(error) => println!("Redis has just begun to answer: {error}"),
        }
    }
    assert_eq!(bodies(&taken), [b"2", b"3"]);
    for taken in taken.into_iter().chain([held]) {
        assert_eq!(settle(&replica, taken, DELIVERED).await, Settled::Recorded);
    }
    assert_eq!(bucket.census().await.unwrap().level, 0);
}

#[tokio::test]
async fn what_kills_its_processor_is_buried_after_a_bounded_number_of_deliveries() {
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
        settle(&replica, take_one(&replica).await, Settlement::GiveBack).await;
        take_one(&replica).await;
        let recovery = bucket.declare_dead(replica.consumer()).await.unwrap().unwrap();
        assert_eq!((recovery.recovered, recovery.poisoned), (1, 0));
    }
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
    assert!(bucket.jobs(None, None, 10).await.unwrap().items.is_empty(), "they have no id yet");
    let taken = take(&replica, 10).await;
    assert_eq!(bodies(&taken), foreign);
    let ids: HashSet<_> = taken.iter().map(|taken| taken.claim.id()).collect();
    assert_eq!(ids.len(), 5);
    for id in ids {
        assert_eq!(state(&bucket, id).await, Some(State::InFlight));
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
    assert_eq!(letter.outcome.reason.as_deref(), Some("the element isn't a JSON object whose members are texts"));
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.bytes, census.dead), (0, 0, 1));
}

#[tokio::test]
async fn a_dead_letter_is_replayed_as_a_new_job_if_there_is_room() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, BucketSettings { capacity: 2, ..settings() }).await;
    let replica = join(&bucket, "a").await;
    let raw = Submission {
        body: b"\xff\x00".as_slice().into(),
        caller: Some("alice".to_owned()),
        expires_in: Some(Duration::from_mins(1)),
        ..Submission::default()
    };
    let died = submit(&bucket, raw).await.id;
    settle(&replica, take_one(&replica).await, buried("no luck")).await;
    assert_eq!(state(&bucket, died).await, Some(State::Ended(Ending::Dead)));
    let letter = bucket.dead_letter(died).await.unwrap().unwrap();
    assert_eq!((letter.body.as_ref(), letter.caller.as_deref()), (b"\xff\x00".as_slice(), Some("alice")));
    let of_alice = DeadFilter { caller: Some("alice".to_owned()), ..DeadFilter::default() };
    assert_eq!(bucket.dead_letters(&of_alice, None, 10).await.unwrap().items.len(), 1);

    submit_all(&bucket, &["1", "2"]).await;
    assert!(matches!(bucket.replay(died).await.unwrap(), Replayed::Refused(_)));
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    let Replayed::As(again) = bucket.replay(died).await.unwrap() else { panic!("there is room") };
    assert_eq!((again.level, bucket.replay(died).await.unwrap()), (2, Replayed::Unknown));
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    let taken = take_one(&replica).await;
    assert_eq!((taken.claim.id(), taken.claim.failures(), body(&taken)), (again.id, 0, b"\xff\x00".as_slice()));
    assert_eq!(taken.job.as_ref().unwrap().expires_ms, None, "its first deadline was of its first life");
    settle(&replica, taken, DELIVERED).await;
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.bytes, census.dead), (0, 0, 0));
}

#[tokio::test]
async fn what_waits_can_be_cancelled_and_purged() {
    let redis = TestRedis::start().await;
    let (store, bucket) = (redis.store().await, open(&redis, settings()).await);
    let replica = join(&bucket, "a").await;
    let ids = submit_all(&bucket, &["1", "2", "3", "4"]).await;
    let flying = take_one(&replica).await;
    assert_eq!(bucket.cancel(ids[0]).await.unwrap(), Cancel::InFlight);
    assert_eq!(bucket.cancel(ids[2]).await.unwrap(), Cancel::Cancelled);
    assert_eq!(bucket.cancel(ids[2]).await.unwrap(), Cancel::Ended(Ending::Cancelled));
    assert_eq!(bucket.cancel(JobId::new(1, 0)).await.unwrap(), Cancel::Unknown);
    assert_eq!(bucket.census().await.unwrap().level, 3);

    push(&store, b"by hand").await;
    assert_eq!(bucket.purge().await.unwrap(), 3);
    assert_eq!(bucket.purge().await.unwrap(), 0);
    assert_eq!(state(&bucket, ids[3]).await, Some(State::Ended(Ending::Cancelled)));
    settle(&replica, flying, DELIVERED).await;
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.bytes), (0, 0));
    let later = submit_all(&bucket, &["5"]).await[0];
    assert_eq!(state(&bucket, later).await, Some(State::Waiting));
}

#[tokio::test]
async fn jobs_are_listed_by_id_page_by_page() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, BucketSettings { capacity: 1000, ..settings() }).await;
    let replica = join(&bucket, "a").await;
    let answers = bucket.admit_many((0..230).map(|n| buckets::job(n.to_string())).collect()).await;
    let mut ids: Vec<JobId> = answers.into_iter().map(|answer| admitted(answer).id).collect();
    ids.sort();
    for taken in take(&replica, 20).await.into_iter().skip(10) {
        settle(&replica, taken, Settlement::GiveBack).await;
    }
    for (wanted, expected) in [
        (None, &ids[..]),
        (Some(State::InFlight), &ids[..10]),
        (Some(State::Waiting), &ids[10..]),
        (Some(State::Parked), &[]),
    ] {
        let (mut listed, mut after) = (Vec::new(), None);
        loop {
            let page = bucket.jobs(wanted, after.as_ref(), 30).await.unwrap();
            listed.extend(page.items.into_iter().map(|job| job.id));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(listed, expected, "{wanted:?}");
    }
}

#[tokio::test]
async fn what_is_past_its_deadline_is_not_started() {
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
    assert_eq!(state(&bucket, short).await, Some(State::Ended(Ending::Expired)));
    assert_eq!(bucket.census().await.unwrap().level, 1);
}

#[tokio::test]
async fn what_a_list_cannot_do_is_refused() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings()).await;
    let delayed = Submission { start: Start::After(Duration::from_secs(1)), ..buckets::job("x") };
    let refusal = bucket.admit(delayed).await.unwrap_err();
    assert_eq!(refusal.to_string(), "a bucket of kind `list` can't delay a job: use kind `stream`");
    let retried = Submission { retries: Some(1), ..buckets::job("x") };
    assert!(matches!(bucket.admit(retried).await, Err(BucketError::Unsupported("try a job again"))));
    let rate = "1/s".parse().ok();
    assert!(matches!(bucket.replay_many(&DeadFilter::default(), rate).await, Err(BucketError::Unsupported(_))));
    assert_eq!(bucket.census().await.unwrap().level, 0);

    submit(&bucket, Submission { retries: Some(0), ..buckets::job("x") }).await;
    let replica = join(&bucket, "a").await;
    let failed = take_one(&replica).await;
    let id = failed.claim.id();
    settle(&replica, failed, Settlement::Retry { after: Duration::ZERO }).await;
    let letter = bucket.dead_letter(id).await.unwrap().unwrap();
    assert_eq!(letter.outcome.reason.as_deref(), Some("the attempt failed, and a list has no second one"));
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
    settle(&a, taken.remove(0), Settlement::GiveBack).await;
    settle(&a, taken.remove(0), buried("no luck")).await;
    let recovery = bucket.declare_dead(a.consumer()).await.unwrap().unwrap();
    assert_eq!(recovery.recovered, 1);
    assert_eq!(bodies(&take(&b, 4).await), [b"4", b"2"]);
}
