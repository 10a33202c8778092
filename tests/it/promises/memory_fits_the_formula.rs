//! Compares the maximum memory of a bucket, calculated from its settings, with what Redis reports.

use std::time::Duration;

use dripfeed_bucket::{
    Bucket, BucketSettings, DeadFilter, DefineScheduleResult, FailedCall, Feedback, NewSchedule, NextTick, OnOutcome,
    OutcomeTarget, Replica, Settlement,
};
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_job::outcome::AnswerBody;
use dripfeed_job::{Ending, StartTime, Submission};
use dripfeed_tests::buckets::{self, buried, join, open, settle, take};
use dripfeed_tests::redis_server::TestRedis;
use futures::future::join_all;
use serde_json::json;

/// The memory that Redis uses, without the parts that vary: buffers of the append-only file and of connections (a lost
/// one may stay for a while, those of large batches exceed what is measured, and INFO has them as of a second ago), and
/// the slow log, which a busy machine fills with parts of batches. From 7.4 on Redis counts the heap of Lua, so its
/// garbage is collected first.
async fn used_memory(redis: &TestRedis) -> u64 {
    let mut at_once = redis::pipe();
    at_once.atomic().cmd("EVAL").arg("collectgarbage()").arg(0).ignore().cmd("SLOWLOG").arg("RESET").ignore();
    at_once.cmd("INFO").arg("memory").cmd("CLIENT").arg("LIST");
    let (info, clients): (redis::InfoDict, String) = redis.store().await.pipeline(&at_once).await.unwrap();
    let of = |name: &str| info.get::<u64>(name).unwrap();
    let buffers = clients.split_whitespace().filter_map(|word| word.strip_prefix("tot-mem="));
    of("used_memory") - of("mem_aof_buffer") - buffers.map(|bytes| bytes.parse::<u64>().unwrap()).sum::<u64>()
}

async fn submit_all(bucket: &Bucket, jobs: impl Iterator<Item = Submission>) {
    for admission in bucket.admit_many(jobs.collect()).await {
        buckets::admitted(admission);
    }
}

async fn end(replica: &Replica, jobs: usize, settlement: Settlement) {
    let taken = take(replica, jobs).await;
    assert_eq!(taken.len(), jobs);
    join_all(taken.into_iter().map(|taken| settle(replica, taken, settlement.clone()))).await;
}

fn late(job: Submission) -> Submission {
    Submission { start: StartTime::After(Duration::from_hours(1)), ..job }
}

const SURVIVORS: usize = 100;
const FAILED: usize = 50;
const SCHEDULES: usize = 200;
/// Jobs per node of the stream.
const NEIGHBOURS: usize = 24;

fn settings() -> BucketSettings {
    let mut settings = BucketSettings { capacity: 200, capacity_bytes: 1 << 20, ..buckets::settings("b") };
    settings.most_schedules = SCHEDULES as u64;
    settings.schedules_bytes = 256 << 10;
    settings.keep.most_outcomes = 2000;
    settings.keep.outcomes_bytes = 512 << 10;
    settings.keep.most_failed = FAILED as u64;
    settings.keep.most_dead = 200;
    settings.keep.dead_bytes = 1 << 20;
    settings.keep.most_idempotency_keys = 500;
    settings
}

#[tokio::test]
async fn a_full_outbox_takes_no_more_memory_than_its_settings_say() {
    const MOST: usize = 300;
    let redis = TestRedis::start().await;
    let target = OutcomeTarget { bucket: "events".parse().unwrap(), outcomes: Ending::ALL.to_vec() };
    let largest = OnOutcome::largest(settings().keep.failed_answer_bytes);
    let on_outcome = OnOutcome { targets: vec![target], most: MOST as u64, bytes: MOST as u64 * largest };
    let bucket = open(&redis, BucketSettings { on_outcome, ..settings() }).await;
    let replica = join(&bucket, "replica").await;
    let before = used_memory(&redis).await;
    let answer = AnswerBody {
        content_type: None,
        content_encoding: None,
        body: "\u{1}".repeat(1000),
        base64: false,
        truncated: false,
    };
    let delivered = Settlement::Complete { status: 200, answer: Some(answer) };
    for _ in 0..MOST / 50 {
        submit_all(&bucket, (0..50).map(|_| Submission { caller: Some("c".repeat(64)), ..buckets::job("x") })).await;
        end(&replica, 50, delivered.clone()).await;
    }
    assert_eq!(bucket.census().await.unwrap().pace.reason, "outbox_full");
    let (taken, most) = (used_memory(&redis).await - before, bucket.settings().most_memory());
    let without = settings().most_memory();
    assert!(taken <= most, "{taken} bytes are taken, {most} were to be the most, {without} without the outbox");
}

#[tokio::test]
async fn a_bucket_takes_no_more_memory_than_its_settings_say() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, settings()).await;
    let replica = join(&bucket, "replica").await;
    // Loads the scripts and opens the connections.
    submit_all(&bucket, std::iter::once(buckets::job("x"))).await;
    end(&replica, 1, buckets::DELIVERED).await;
    let before = used_memory(&redis).await;

    // As many idempotency keys as are allowed, of maximum length. Their jobs end, the keys stay.
    let answer = AnswerBody {
        content_type: None,
        content_encoding: None,
        body: "a".repeat(200),
        base64: false,
        truncated: false,
    };
    let delivered = Settlement::Complete { status: 200, answer: Some(answer) };
    for n in 0..10 {
        let keyed = (0..50).map(|i| Submission {
            idempotency_key: IdempotencyKey::parse(&format!("{:0>255}", n * 50 + i)).ok(),
            caller: Some("c".repeat(64)),
            ..buckets::job("x")
        });
        submit_all(&bucket, keyed).await;
        end(&replica, 50, delivered.clone()).await;
    }
    // As many dead letters as are allowed, in number and bytes.
    for _ in 0..10 {
        submit_all(&bucket, (0..20).map(|_| buckets::job("d".repeat(5000)))).await;
        end(&replica, 20, buried("rejected")).await;
    }
    // In each node of the stream a delayed job outlives all others.
    for _ in 0..SURVIVORS {
        submit_all(&bucket, std::iter::once(late(buckets::job("survivor")))).await;
        submit_all(&bucket, (1..NEIGHBOURS).map(|_| buckets::job("x"))).await;
        end(&replica, NEIGHBOURS - 1, delivered.clone()).await;
    }
    // `FAILED` jobs have as many failed attempts as are kept of each job.
    let answer = AnswerBody {
        content_type: None,
        content_encoding: None,
        body: "f".repeat(2000),
        base64: false,
        truncated: false,
    };
    let call = FailedCall { status: Some(500), reason: "r".repeat(200), answer: Some(answer) };
    submit_all(&bucket, (0..FAILED).map(|_| buckets::job("failing"))).await;
    for attempt in 1..=settings().keep.failed_attempts {
        let is_last = attempt == settings().keep.failed_attempts;
        let after = if is_last { Duration::from_hours(1) } else { Duration::ZERO };
        for taken in take(&replica, FAILED).await {
            let feedback = Feedback { failed: Some(call.clone()), ..Feedback::default() };
            replica.settle_with(taken.claim, Settlement::Retry { after }, feedback).await.unwrap();
        }
    }
    // As many schedules as are allowed, with names and definitions of maximum size.
    for number in 0..SCHEDULES {
        let (id, definition) = (format!("{number:0>64}").parse().unwrap(), "d".repeat((256 << 10) / SCHEDULES));
        let job = buckets::job("x");
        let (known, paused, next) = (None, false, NextTick::At(4_000_000_000_000));
        let new = NewSchedule { id: &id, known, definition: &definition, job: &job, paused, next };
        assert!(matches!(bucket.define_schedule(&new).await.unwrap(), DefineScheduleResult::Done(_)));
    }
    // The rest of the capacity is filled up in bytes.
    submit_all(&bucket, (SURVIVORS + FAILED..200).map(|_| buckets::job("l".repeat(20_000)))).await;
    let census = bucket.census().await.unwrap();
    assert_eq!((census.level, census.parked), (200, (SURVIVORS + FAILED) as u64));
    assert!(census.bytes > 1_000_000 && census.dead_bytes > 1_000_000, "{census:?}");

    let (taken, most) = (used_memory(&redis).await - before, settings().most_memory());
    assert!(taken <= most, "{taken} bytes are taken, {most} were to be the most");
    assert!(most <= 3 * taken, "{taken} bytes are taken: {most} says nothing");
}

#[tokio::test]
async fn callers_that_are_bounded_take_no_more_memory_than_the_settings_say() {
    let redis = TestRedis::start().await;
    let settings = || {
        let mut settings = BucketSettings { capacity: 1000, ..settings() };
        settings.fair.bounds.rate = "2/h".parse().ok();
        settings
    };
    let free = settings().most_memory();
    let bucket = open(&redis, BucketSettings { fair: dripfeed_bucket::Fair::default(), ..settings() }).await;
    let replica = join(&bucket, "replica").await;
    submit_all(&bucket, std::iter::once(buckets::job("x"))).await;
    end(&replica, 1, buckets::DELIVERED).await;
    let before = used_memory(&redis).await;
    bucket.apply_overrides(&buckets::changed("fair.rate", json!("2/h"))).await.unwrap();
    // One job of each caller is in flight, the other one waits, and the caller is throttled.
    for n in 0..500 {
        let job = || Submission { caller: Some(format!("{n:c>250}")), ..buckets::job("x") };
        submit_all(&bucket, [job(), job()].into_iter()).await;
    }
    let mut taken = Vec::new();
    while taken.len() < 500 {
        taken.extend(take(&replica, 500).await);
    }
    assert_eq!(redis.ask::<u64>("ZCARD dripfeed:{b}:throttled").await, 500);
    let of_flows: Vec<String> = redis.ask("HKEYS dripfeed:{b}:flow-state").await;
    assert_eq!(of_flows.iter().filter(|name| !name.starts_with("called")).count(), 1002);
    let taken = used_memory(&redis).await - before;
    // Callers of whom nothing is in the bucket come on top.
    let most = free - 100_000 * 192;
    assert!(taken <= most, "{taken} bytes are taken, {most} were to be the most");
    for (state, most) in [
        ("0 4.9999999999999999 1700000000000000 1700000000000000 0".to_owned(), 192),
        (format!("0 4.9999999999999999 1700000000000000 1700000000000000 0 t{}", ":4.9999999999999999".repeat(4)), 320),
    ] {
        let states = "for n = 1, 100000 do redis.call('HSET', KEYS[1], 100000000000 + n, ARGV[1]) end
                      return redis.call('MEMORY', 'USAGE', KEYS[1], 'SAMPLES', 0)";
        let mut eval = redis::cmd("EVAL");
        let eval = eval.arg(states).arg(1).arg("states").arg(state);
        let of_states: u64 = redis.store().await.command(eval).await.unwrap();
        assert!(of_states <= 100_000 * most, "{of_states} bytes for 100,000 callers");
    }
}

/// A bucket with room for one small job, of which nothing is kept.
fn smallest(name: &str) -> BucketSettings {
    let mut settings = BucketSettings { capacity: 1, capacity_bytes: 1 << 10, ..buckets::settings(name) };
    (settings.most_schedules, settings.schedules_bytes) = (0, 1);
    (settings.keep.most_outcomes, settings.keep.outcomes_bytes) = (1, 1 << 10);
    (settings.keep.most_dead, settings.keep.dead_bytes, settings.keep.most_failed) = (1, 1 << 10, 0);
    settings.keep.most_idempotency_keys = 1;
    settings
}

#[tokio::test]
async fn idempotency_keys_with_the_longest_names_take_no_more_memory_than_the_settings_say() {
    const KEYS: usize = 2100;
    const BATCH: usize = 700;
    let redis = TestRedis::start().await;
    let mut settings = BucketSettings { capacity: BATCH as u64, capacity_bytes: 1 << 20, ..smallest(&"b".repeat(64)) };
    settings.keep.most_idempotency_keys = BATCH as u64;
    let without = settings.most_memory();
    settings.keep.most_idempotency_keys = (BATCH + KEYS) as u64;
    let most = settings.most_memory() - without;
    let bucket = open(&redis, settings).await;
    let keyed = |n: usize| Submission {
        idempotency_key: IdempotencyKey::parse(&format!("{n:0>255}")).ok(),
        // Each character is escaped.
        caller: Some("%".repeat(64)),
        ..buckets::job("x")
    };
    let fill = async |from: usize| {
        submit_all(&bucket, (from..from + BATCH).map(keyed)).await;
        bucket.purge().await.unwrap();
    };
    // Responses to batches are kept for some seconds, and are counted elsewhere.
    let forget = "for _, token in ipairs(redis.call('KEYS', '*:token:*')) do redis.call('DEL', token) end";
    let used = async || {
        redis.store().await.command::<()>(redis::cmd("EVAL").arg(forget).arg(0)).await.unwrap();
        used_memory(&redis).await
    };
    // What the first batch of this size leaves besides idempotency keys counts for the bucket.
    fill(KEYS).await;
    let before = used().await;
    for from in (0..KEYS).step_by(BATCH) {
        fill(from).await;
    }
    let taken = used().await - before;
    assert!(taken <= most, "{taken} bytes are taken, {most} were to be the most");
}

#[tokio::test]
async fn what_is_kept_of_changes_takes_no_more_memory_than_the_settings_say() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, smallest(&"b".repeat(64))).await;
    // Loads the scripts and opens the connections.
    bucket.record(None, "delete", "").await.unwrap();
    bucket.apply_overrides(&buckets::changed("capacity", json!(1))).await.unwrap();
    bucket.start_replay(DeadFilter::default(), None, None).await.unwrap().unwrap();
    let before = used_memory(&redis).await;
    let long = |bytes: usize| "\u{10348}".repeat(bytes / 4);
    for _ in 0..200 {
        bucket.record(Some(&"c".repeat(64)), "delete", &long(1200)).await.unwrap();
    }
    let policy = |n: usize| {
        let tiers = json!([{"kind": "fixed", "limit": 1, "period": "1d"}]);
        json!({"id": format!("p{n}"), "message": long(550), "tiers": tiers})
    };
    bucket.apply_overrides(&buckets::changed("limits", (0..100).map(policy).collect::<Vec<_>>())).await.unwrap();
    let tiers = json!([0, 1, 2, 3].map(|tier| json!({"rate": format!("{}/9999s", 90_000 + tier), "burst": 99})));
    let flow = |n: usize| (format!("{n:f>64}"), json!({"weight": 999, "rate": "99999/9999s", "tiers": tiers}));
    let flows: serde_json::Map<_, _> = (0..100).map(flow).collect();
    bucket.apply_overrides(&buckets::changed("fair.flows", flows)).await.unwrap();
    let filter = DeadFilter { reason: Some(long(1024)), caller: Some(long(1024)), ..DeadFilter::default() };
    for _ in 1..10 {
        bucket.start_replay(filter.clone(), None, Some(&"c".repeat(64))).await.unwrap().unwrap();
    }
    let taken = used_memory(&redis).await - before;
    // Another test fills the history.
    let most = bucket.settings().most_memory() - (64 << 10);
    assert!(taken <= most, "{taken} bytes are taken, {most} were to be the most");
    assert!(most <= 3 * taken, "{taken} bytes are taken: {most} says nothing");
}
