//! Promise 1: `XLEN` of the jobs stream is the level. It never exceeds the capacity, whatever the number of intakes and
//! requests at once, and also when the capacity is lowered while the bucket is fuller than that.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dripfeed_bucket::{BucketSettings, RefusalReason, ReplayResult};
use dripfeed_job::entry;
use dripfeed_store::Store;
use dripfeed_tests::buckets::{self, admitted, buried, changed, join, open, refused, settle, submit, take_one};
use dripfeed_tests::client::Client;
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::sources::of_the_product;
use dripfeed_tests::upstream::{Answer, Upstream};
use futures::future::join_all;
use serde_json::Value;
use tokio::sync::watch;

const REQUESTS: u64 = 20_000;
const WRITERS: usize = 64;

/// What all writers saw in total.
#[derive(Default)]
struct Seen {
    begun: AtomicU64,
    accepted: AtomicU64,
    refused: AtomicU64,
    /// The highest level in a 202, of requests that began before the capacity was lowered, and of those after.
    highest: [AtomicU64; 2],
    lowered: AtomicU64,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_level_never_passes_the_capacity_with_64_writers_over_two_intakes() {
    // So slow that the bucket is nearly always full, also after its capacity is lowered.
    let upstream = Upstream::start(|_| async {
        tokio::time::sleep(Duration::from_millis(10)).await;
        Answer::Status(200)
    })
    .await;
    let service = Service::new(&format!("[buckets.b]\nupstream = \"{}\"\ncapacity = 100", upstream.url())).await;
    let intakes = [service.intake().await, service.intake().await];
    let _processor = service.processor().await;

    let (done, ended) = watch::channel(false);
    let samples = tokio::spawn(sample(service.redis.store().await, ended));
    let seen = Arc::new(Seen::default());
    let writers = (0..WRITERS).map(|n| tokio::spawn(write(intakes[n % 2].client(), Arc::clone(&seen))));
    let writers = join_all(writers.collect::<Vec<_>>());

    let lowering = async {
        until("half of the requests", async || seen.begun.load(Ordering::Relaxed) > REQUESTS / 2).await;
        let changed = intakes[0].client().patch("/v1/buckets/b", r#"{"capacity": 50}"#).await.expect("an answer");
        assert_eq!(changed.status, 200, "{changed:?}");
        seen.lowered.store(1, Ordering::SeqCst);
    };
    let (results, ()) = tokio::join!(writers, lowering);
    results.into_iter().for_each(|writer| writer.expect("a writer that gets an answer to every request"));
    done.send_replace(true);
    let samples = samples.await.expect("the level could be sampled");

    let (accepted, refused) = (seen.accepted.load(Ordering::SeqCst), seen.refused.load(Ordering::SeqCst));
    assert_eq!(accepted + refused, REQUESTS);
    assert!(refused > 0, "the bucket was never full: this load shows nothing");
    let highest = [&seen.highest[0], &seen.highest[1]].map(|level| level.load(Ordering::SeqCst));
    assert_eq!(highest, [100, 50], "the highest levels that were admitted to, under each capacity");

    let most = samples.iter().max().expect("samples");
    assert!(*most <= 100, "the level was {most}, sampled {} times", samples.len());
    // The stream wasn't trimmed: all accepted jobs were delivered.
    service.drained("b").await;
    let counts = service.counts("b").await;
    assert_eq!((counts.accepted, counts.delivered), (accepted, accepted));
    assert_eq!(upstream.calls().len() as u64, accepted);
}

/// Samples the level continuously.
async fn sample(store: Store, mut ended: watch::Receiver<bool>) -> Vec<u64> {
    let mut samples = Vec::new();
    let mut length = redis::cmd("XLEN");
    length.arg("dripfeed:{b}:jobs");
    while !*ended.borrow_and_update() {
        samples.push(store.command(&length).await.expect("Redis answers"));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    samples
}

async fn write(client: Client, seen: Arc<Seen>) {
    while seen.begun.fetch_add(1, Ordering::SeqCst) < REQUESTS {
        let phase = usize::from(seen.lowered.load(Ordering::SeqCst) == 1);
        let answer = client.submit("b", "x").await.expect("an answer");
        match answer.status {
            202 => {
                seen.accepted.fetch_add(1, Ordering::SeqCst);
                seen.highest[phase].fetch_max(answer.number("level"), Ordering::SeqCst);
            }
            429 => {
                assert_eq!(answer.text("code"), "bucket_full");
                seen.refused.fetch_add(1, Ordering::SeqCst);
            }
            _ => panic!("{answer:?}"),
        }
    }
}

#[tokio::test]
async fn nothing_is_admitted_above_a_capacity_that_was_lowered_below_the_level() {
    let redis = TestRedis::start().await;
    let bucket = open(&redis, buckets::settings("b")).await;
    for answer in bucket.admit_many((0..80).map(|n| buckets::job(n.to_string())).collect()).await {
        admitted(answer);
    }
    bucket.apply_overrides(&changed("capacity", 50)).await.unwrap();
    let full = refused(bucket.admit(buckets::job("x")).await);
    assert_eq!((full.reason, full.level, full.capacity), (RefusalReason::BucketFull, 80, 50));
    assert_eq!(bucket.census().await.unwrap().level, 80, "what was accepted stays");
    bucket.apply_overrides(&changed("capacity", Value::Null)).await.unwrap();
    assert_eq!(submit(&bucket, buckets::job("x")).await.level, 81);
}

#[tokio::test]
async fn the_bytes_are_bounded_too() {
    let redis = TestRedis::start().await;
    let body = "x".repeat(1000);
    let size = entry::encode(&buckets::job(body.clone())).bytes();
    let mut settings = buckets::settings("b");
    settings.capacity_bytes = 10 * size as u64;
    let bucket = open(&redis, settings).await;
    let answers = bucket.admit_many((0..30).map(|_| buckets::job(body.clone())).collect()).await;
    assert_eq!(
        answers.iter().filter(|answer| matches!(answer, Ok(dripfeed_bucket::Admission::Admitted(_)))).count(),
        10
    );
    assert_eq!(bucket.census().await.unwrap().bytes, 10 * size as u64);
}

/// A replayed dead letter is a job like any other.
#[tokio::test]
async fn a_replay_passes_neither_bound() {
    let redis = TestRedis::start().await;
    let body = "x".repeat(1000);
    let size = entry::encode(&buckets::job(body.clone())).bytes() as u64;
    let roomy = buckets::settings("b");
    for bounded in [
        BucketSettings { capacity: 3, ..roomy.clone() },
        // Room for three such jobs, and a byte less than the fourth needs.
        BucketSettings { capacity_bytes: 4 * size - 1, ..roomy },
    ] {
        let bucket = open(&redis, bounded).await;
        let died = submit(&bucket, buckets::job(body.clone())).await.id;
        let replica = join(&bucket, "replica").await;
        settle(&replica, take_one(&replica).await, buried("rejected")).await;
        for _ in 0..3 {
            submit(&bucket, buckets::job(body.clone())).await;
        }
        let full = bucket.replay(died).await.unwrap();
        assert!(matches!(&full, ReplayResult::Refused(full) if full.reason == RefusalReason::BucketFull), "{full:?}");
        let census = bucket.census().await.unwrap();
        assert_eq!((census.level, census.bytes, census.dead), (3, 3 * size, 1), "and the letter stays");
        settle(&replica, take_one(&replica).await, buckets::DELIVERED).await;
        let replayed = bucket.replay(died).await.unwrap();
        assert!(matches!(replayed, ReplayResult::As(_)), "{replayed:?}");
        let census = bucket.census().await.unwrap();
        assert_eq!((census.level, census.bytes, census.dead), (3, 3 * size, 0));
        replica.leave().await.unwrap();
        bucket.purge().await.unwrap();
    }
}

/// Jobs may leave the stream only by id. Trimming would remove the oldest jobs, whatever their state.
#[test]
fn no_script_and_no_command_trims_the_jobs() {
    let trims = |file: &PathBuf| {
        let source = fs::read_to_string(file).expect("a source");
        // One of the planted bugs trims.
        let is_planted = file.ends_with("planted_bugs.rs");
        let lines = source.lines().filter(move |_| !is_planted).map(str::to_owned).collect::<Vec<_>>();
        let word = |line: &String| ["XTRIM", "MAXLEN", "MINID"].iter().any(|word| line.contains(word));
        lines.into_iter().filter(word).collect::<Vec<_>>()
    };
    let (scripts, sources) = (of_the_product("lua"), of_the_product("rs"));
    assert!(scripts.len() > 40 && sources.len() > 40, "{scripts:?} {sources:?}");
    let found: Vec<String> = scripts.iter().chain(&sources).flat_map(trims).collect();
    let of_an_audit_log = found.iter().filter(|line| line.to_lowercase().contains("audit")).count();
    assert!(of_an_audit_log == found.len() && of_an_audit_log > 0, "{found:?}");
}
