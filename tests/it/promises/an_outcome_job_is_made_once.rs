//! An outcome job is made once: for each end whose kind `on_outcome` names its bucket gets one job, whatever is killed
//! on the way, and the bounds of both buckets hold.

mod bounds;
mod callers;
mod chains;
mod kills;
mod oversized;
mod targets;

use std::collections::BTreeMap;
use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_job::{Ending, JobId, Outcome, Submission};
use dripfeed_tests::buckets::{self, DELIVERED, buried, job, join, settle, submit, take, take_one};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::until;
use serde_json::Value;

/// A target for all kinds of outcomes.
fn to(bucket: &str) -> OutcomeTarget {
    OutcomeTarget { bucket: bucket.parse().expect("a name"), outcomes: Ending::ALL.to_vec() }
}

fn reporting(name: &str, targets: Vec<OutcomeTarget>, most: u64) -> BucketSettings {
    BucketSettings { on_outcome: OnOutcome { targets, most, bytes: 16 << 20 }, ..buckets::settings(name) }
}

async fn outbox(redis: &TestRedis, bucket: &str) -> u64 {
    redis.ask(&format!("XLEN dripfeed:{{{bucket}}}:outbox")).await
}

async fn outbox_bytes(redis: &TestRedis, bucket: &str) -> u64 {
    redis.ask::<Option<u64>>(&format!("HGET dripfeed:{{{bucket}}}:tally outbox_bytes")).await.unwrap_or(0)
}

fn brief() -> Submission {
    Submission { expires_in: Some(Duration::from_millis(1)), ..job("x") }
}

/// Waits until the deadline of a job has passed, which is 1 ms after its acceptance.
async fn is_late(redis: &TestRedis, id: JobId) {
    until("its deadline passes", async || {
        let (seconds, micros): (u64, u64) = redis.ask("TIME").await;
        seconds * 1000 + micros / 1000 > id.accepted_ms() + 1
    })
    .await;
}

/// Hands over outcome jobs until no more can be handed over.
async fn hand_over(courier: &mut OutboxRelay, targets: &Buckets) -> HandOverResult {
    loop {
        match courier.hand_over(targets).await.expect("Redis answers") {
            HandOverResult::Some => {}
            end => return end,
        }
    }
}

/// Delivers all outcome jobs in a bucket. Returns their bodies, by the id of the job that each reports.
async fn reported(bucket: &Bucket) -> BTreeMap<String, Value> {
    let replica = join(bucket, "reader").await;
    let mut all = BTreeMap::new();
    while bucket.census().await.expect("Redis answers").level > 0 {
        for taken in take(&replica, 100).await {
            let body: Value = serde_json::from_slice(&taken.job.as_ref().expect("a job").body).expect("JSON");
            let id = body["id"].as_str().expect("an id").to_owned();
            assert_eq!(all.insert(id, body), None, "one job of each");
            settle(&replica, taken, DELIVERED).await;
        }
    }
    replica.leave().await.expect("Redis answers");
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_kind_of_end_is_reported_as_the_list_of_outcomes_shows_it() {
    let redis = TestRedis::start().await;
    let from = buckets::open(&redis, reporting("from", vec![to("events")], 100)).await;
    let events = buckets::open(&redis, buckets::settings("events")).await;
    let targets = Buckets::new([from.clone(), events.clone()]);
    let (replica, mut courier) = (join(&from, "r").await, OutboxRelay::new(from.clone()));

    let of = |caller: &str| Submission { caller: Some(caller.to_owned()), ..job("x") };
    let delivered = submit(&from, of("shop")).await.id;
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    let dead = submit(&from, job("x")).await.id;
    settle(&replica, take_one(&replica).await, buried("no luck")).await;
    let cancelled = submit(&from, job("x")).await.id;
    assert_eq!(from.cancel(cancelled).await.expect("Redis answers"), CancelResult::Cancelled);
    let expired = submit(&from, brief()).await.id;
    is_late(&redis, expired).await;
    assert!(matches!(replica.take(1).await.expect("Redis answers"), Take::Idle(_)));

    assert_eq!(outbox(&redis, "from").await, 4);
    assert_eq!(hand_over(&mut courier, &targets).await, HandOverResult::All);
    assert_eq!((outbox(&redis, "from").await, outbox_bytes(&redis, "from").await), (0, 0));
    let reported = reported(&events).await;
    assert_eq!(reported.len(), 4);
    for (id, state) in [(delivered, "delivered"), (dead, "dead"), (cancelled, "cancelled"), (expired, "expired")] {
        let body = &reported[&id.to_string()];
        assert_eq!((&body["state"], &body["bucket"]), (&state.into(), &"from".into()), "{body}");
    }
    assert_eq!(reported[&delivered.to_string()]["caller"], "shop");
    assert_eq!(reported[&dead.to_string()]["outcome"]["reason"], "no luck");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_chooses_among_the_targets_of_its_bucket() {
    let redis = TestRedis::start().await;
    let dead_alone = OutcomeTarget { outcomes: vec![Ending::Dead], ..to("c") };
    let from = buckets::open(&redis, reporting("from", vec![to("a"), to("b"), dead_alone], 100)).await;
    let [a, b, c] = ["a", "b", "c"].map(|name| buckets::open(&redis, buckets::settings(name)));
    let (a, b, c) = (a.await, b.await, c.await);
    let targets = Buckets::new([from.clone(), a.clone(), b.clone(), c.clone()]);
    let (replica, mut courier) = (join(&from, "r").await, OutboxRelay::new(from.clone()));
    let choosing = |text: &str| {
        let mut submission = job("x");
        submission.chain.targets = Some(text.parse().expect("a choice"));
        submission
    };
    let mut ids: Vec<JobId> = Vec::new();
    for submission in [job("x"), choosing("none"), choosing("b,c"), choosing("a")] {
        ids.push(submit(&from, submission).await.id);
        settle(&replica, take_one(&replica).await, DELIVERED).await;
    }
    assert!(matches!(from.admit(choosing("d")).await, Err(BucketError::OutcomeTarget(_))));
    assert_eq!(hand_over(&mut courier, &targets).await, HandOverResult::All);
    let names = |jobs: BTreeMap<String, Value>| jobs.into_keys().collect::<Vec<_>>();
    assert_eq!(names(reported(&a).await), [ids[0].to_string(), ids[3].to_string()]);
    assert_eq!(names(reported(&b).await), [ids[0].to_string(), ids[2].to_string()]);
    assert_eq!(names(reported(&c).await), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_is_cut_as_that_of_a_failed_attempt() {
    let redis = TestRedis::start().await;
    let from = buckets::open(&redis, reporting("from", vec![to("events")], 100)).await;
    let events = buckets::open(&redis, buckets::settings("events")).await;
    let targets = Buckets::new([from.clone(), events.clone()]);
    let (replica, mut courier) = (join(&from, "r").await, OutboxRelay::new(from.clone()));
    let bodies = ["ä\"\u{1}".repeat(2000).into_bytes(), vec![0xff; 4000], b"short".to_vec()];
    let mut sent = BTreeMap::new();
    for body in bodies {
        let answer = dripfeed_job::outcome::AnswerBody::new(Some("text/plain".to_owned()), &body, false);
        let id = submit(&from, job("x")).await.id;
        sent.insert(id.to_string(), body);
        let settlement = Settlement::Complete { status: 200, answer: Some(answer) };
        settle(&replica, take_one(&replica).await, settlement).await;
    }
    let largest: u64 = 1024 + (4 << 10);
    assert!(outbox_bytes(&redis, "from").await < 3 * largest);
    assert_eq!(hand_over(&mut courier, &targets).await, HandOverResult::All);
    for (id, body) in reported(&events).await {
        let outcome = &body["outcome"];
        let text = |name: &str| outcome[name].as_str().map(str::to_owned);
        let answer = dripfeed_job::outcome::AnswerBody {
            content_type: text("content_type"),
            content_encoding: None,
            body: text("body").expect("a body"),
            base64: outcome["base64"] == true,
            truncated: outcome["truncated"] == true,
        };
        let (kept, whole) = (answer.bytes(), &sent[&id]);
        assert!(!kept.is_empty() && whole.starts_with(&kept), "{body}");
        assert_eq!((answer.truncated, kept.len() < whole.len()), (whole.len() > 5, whole.len() > 5), "{body}");
        assert_eq!((outcome["status"].as_u64(), text("content_type")), (Some(200), Some("text/plain".to_owned())));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_that_was_handed_over_and_not_removed_is_known_by_its_key() {
    let redis = TestRedis::start().await;
    let from = buckets::open(&redis, reporting("from", vec![to("events")], 100)).await;
    let events = buckets::open(&redis, buckets::settings("events")).await;
    let targets = Buckets::new([events.clone()]);
    let (replica, mut courier) = (join(&from, "r").await, OutboxRelay::new(from.clone()));
    let id = submit(&from, job("x")).await.id;
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    let entry: Vec<(String, Vec<String>)> = redis.ask("XRANGE dripfeed:{from}:outbox - +").await;
    assert_eq!(hand_over(&mut courier, &targets).await, HandOverResult::All);
    // As if the entry hadn't been removed.
    let mut again = redis::cmd("XADD");
    again.arg("dripfeed:{from}:outbox").arg("*").arg(&entry[0].1);
    redis.store().await.command::<String>(&again).await.expect("Redis answers");
    assert_eq!(hand_over(&mut courier, &targets).await, HandOverResult::All);
    let reported = reported(&events).await;
    assert_eq!(reported.keys().collect::<Vec<_>>(), [&id.to_string()]);
    let outcome = Outcome::from_record("delivered 200 1").expect("a record");
    assert_eq!(reported[&id.to_string()]["attempts"], outcome.attempts);
}

/// This happens while new settings are rolled out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_does_not_know_a_target_leaves_it_to_others() {
    let redis = TestRedis::start().await;
    let from = buckets::open(&redis, reporting("from", vec![to("old"), to("new")], 100)).await;
    let [old, new] = ["old", "new"].map(|name| buckets::open(&redis, buckets::settings(name)));
    let (old, new) = (old.await, new.await);
    let replica = join(&from, "r").await;
    submit(&from, job("x")).await;
    settle(&replica, take_one(&replica).await, DELIVERED).await;

    let (mut one, mut other) = (OutboxRelay::new(from.clone()), OutboxRelay::new(from.clone()));
    let known = Buckets::new([from.clone(), old.clone()]);
    assert_eq!(hand_over(&mut one, &known).await, HandOverResult::Unknown);
    assert_eq!((outbox(&redis, "from").await, reported(&old).await.len()), (1, 1), "it moves what it can");
    let all = Buckets::new([from.clone(), old, new.clone()]);
    assert_eq!(hand_over(&mut other, &all).await, HandOverResult::All);
    assert_eq!((outbox(&redis, "from").await, reported(&new).await.len()), (0, 1));
}
