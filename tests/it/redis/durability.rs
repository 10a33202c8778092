//! What a 202 survives: the class that it names is what Redis gives, and costs one wait for many jobs.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use dripfeed_bucket::*;
use dripfeed_store::{AppendFsync, Durability, PrivateServer, RedisSettings, ServerOptions, Store};
use dripfeed_tests::buckets::{self, submit};
use dripfeed_tests::callers::{Broken, Seen};
use dripfeed_tests::processes::{Process, command};
use dripfeed_tests::redis_server::{RunningRedis, TestRedis};
use dripfeed_tests::sentinels::Sentinels;
use dripfeed_tests::service::{Service, TIMEOUTS, until};
use dripfeed_tests::torture::failover;
use dripfeed_tests::upstream::Upstream;
use futures::future::{join_all, select_all};
use redis::cmd;

/// Submitted at once.
const CROWD: u64 = 500;

/// A bucket with accepted jobs kept by `durability`.
async fn bucket(redis: &TestRedis, durability: Durability) -> Bucket {
    let settings = RedisSettings::new(redis.server.address(), "dripfeed", durability);
    let store = Store::connect(&settings).await.expect("Redis answers");
    Bucket::new(store, BucketSettings { durability, capacity: 1000, ..buckets::settings("b") })
}

/// Admits a crowd at once, and shows how often each of `commands` was called for it.
async fn calls_for_a_crowd<const N: usize>(redis: &TestRedis, bucket: &Bucket, commands: [&str; N]) -> [u64; N] {
    let mut before = Vec::new();
    for command in commands {
        before.push(redis.calls(command).await);
    }
    let admitted = join_all((0..CROWD).map(|n| bucket.admit(buckets::job(n.to_string())))).await;
    for admission in admitted {
        buckets::admitted(admission);
    }
    let mut made = [0; N];
    for (n, command) in commands.iter().enumerate() {
        made[n] = redis.calls(command).await - before[n];
    }
    made
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_jobs_wait_for_the_replicas_once() {
    let redis = Sentinels::start(1, "").await;
    let bucket = bucket(redis.server(0), Durability::Replicated).await;
    submit(&bucket, buckets::job("first, with the source of the script")).await;
    let [evalsha, wait] = ["evalsha", "wait"];
    let before = (redis.server(0).calls(evalsha).await, redis.server(0).calls(wait).await);
    submit(&bucket, buckets::job("alone")).await;
    let after = (redis.server(0).calls(evalsha).await, redis.server(0).calls(wait).await);
    assert_eq!(after, (before.0 + 1, before.1 + 1), "one script and one wait for who is alone");

    let [scripts, waits] = calls_for_a_crowd(redis.server(0), &bucket, [evalsha, wait]).await;
    assert!(scripts <= CROWD / 20 && waits <= scripts + 1, "{scripts} scripts and {waits} waits for {CROWD} jobs");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_counts_once_the_replicas_have_it() {
    let redis = Sentinels::start(1, "").await;
    let bucket = bucket(redis.server(0), Durability::Replicated).await;
    bucket.pause().await.unwrap();
    let before = redis.server(0).calls("wait").await;
    bucket.resume().await.unwrap();
    bucket.pause().await.unwrap();
    assert_eq!(redis.server(0).calls("wait").await, before + 2, "one wait for each");
    redis.server(1).server.pause().expect("it runs");
    assert!(bucket.pause().await.is_err(), "no replica has it");
    redis.server(1).server.resume().expect("it runs");
}

fn always() -> ServerOptions {
    ServerOptions { append_fsync: AppendFsync::Always, ..ServerOptions::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_jobs_are_flushed_to_the_disk_at_once() {
    let redis = TestRedis::with(always()).await;
    let bucket = bucket(&redis, Durability::Fsync).await;
    let [scripts, waits] = calls_for_a_crowd(&redis, &bucket, ["evalsha", "wait"]).await;
    assert!(scripts <= CROWD / 20 && waits == 0, "{scripts} scripts and {waits} waits for {CROWD} jobs");
}

/// The append-only file as it is now, in its own folder.
fn copy_of_the_file(redis: &TestRedis) -> tempfile::TempDir {
    let copy = tempfile::tempdir().expect("a temporary folder");
    // From Redis 7.0 on it has several parts.
    let (name, parts) = (Path::new("appendonly.aof"), Path::new("appendonlydir"));
    let Ok(files) = fs::read_dir(redis.folder().join(parts)) else {
        fs::copy(redis.folder().join(name), copy.path().join(name)).expect("a copy");
        return copy;
    };
    fs::create_dir(copy.path().join(parts)).expect("a folder");
    for file in files {
        let file = file.expect("an entry");
        fs::copy(file.path(), copy.path().join(parts).join(file.file_name())).expect("a copy");
    }
    copy
}

/// That Redis flushes the file before it answers is its own promise with `appendfsync always`, which is checked at the
/// start; that the job is in the file by then is shown here.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_is_in_the_file_when_its_202_comes() {
    let redis = TestRedis::with(always()).await;
    let service = Service::over(redis, Durability::Fsync, "[buckets.b]\nupstream = \"http://127.0.0.1:9/\"").await;
    let intake = service.intake().await;
    for round in 0..5 {
        let client = intake.client();
        let crowd = (0..20).map(|n| client.submit("b", format!("{round} {n}")));
        let (first, ..) = select_all(crowd.map(Box::pin)).await;
        let copy = copy_of_the_file(&service.redis);
        let first = first.expect("an answer");
        assert_eq!((first.status, first.text("durability").as_str()), (202, "fsync"));
        let server = PrivateServer::start(copy.path(), ServerOptions::default()).await.expect("a server on the copy");
        let store =
            Store::connect(&RedisSettings::new(server.address(), "dripfeed", Durability::Process)).await.unwrap();
        let id = first.text("id");
        let found: Vec<redis::Value> =
            store.command(cmd("XRANGE").arg("dripfeed:{b}:jobs").arg(&id).arg(&id)).await.expect("Redis answers");
        assert_eq!(found.len(), 1, "{id} isn't in the file");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_class_that_redis_does_not_give_is_refused_at_the_start() {
    let redis = TestRedis::start().await;
    let file = redis.folder().join("dripfeed.toml");
    let bucket = "[buckets.b]\nupstream = \"http://127.0.0.1:9/\"\n[intake]\nlisten = \"127.0.0.1:0\"";
    fs::write(&file, format!("redis.url = \"{}\"\n{TIMEOUTS}{bucket}", redis.url())).expect("a file of settings");
    let started = async |class: &str| {
        let mut command = command(["-c"]);
        command.arg(&file).args(["--set", &format!("redis.durability={class}"), "intake"]);
        let output = command.output().await.expect("the executable");
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    for (class, advice) in [("fsync", "appendfsync always"), ("replicated", "connect a replica")] {
        let (code, told) = started(class).await;
        assert!(code == Some(78) && told.contains(advice), "{class}: {code:?} {told}");
    }
    redis.ask::<()>("CONFIG SET maxmemory-policy allkeys-lru").await;
    let (code, told) = started("process").await;
    assert!(code == Some(78) && told.contains("noeviction"), "{code:?} {told}");
}

/// A lower class than was asked for is reported, where it isn't refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_202_names_the_class_that_redis_gives() {
    for (append_only, class) in [(true, "everysec"), (false, "process")] {
        let redis = TestRedis::with(ServerOptions { append_only, ..ServerOptions::default() }).await;
        let buckets = "[buckets.b]\nupstream = \"http://127.0.0.1:9/\"";
        let service = Service::over(redis, Durability::Everysec, buckets).await;
        let accepted = service.intake().await.client().submit("b", "x").await.expect("an answer");
        assert_eq!((accepted.status, accepted.text("durability").as_str()), (202, class));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unreplicated_job_is_not_accepted_and_is_one_job_when_sent_again() {
    const KEYS: [&str; 3] = ["k1", "k2", "k3"];
    let upstream = Upstream::willing().await;
    let redis = Sentinels::start(2, "").await;
    let mut service = Service::alone(redis, Durability::Replicated, &failover::buckets(&upstream)).await;
    let intake = service.intake().await;
    let client = intake.client();
    let (old, replicas) = (service.redis.master().await, [1, 2]);
    // However long the answers take, it isn't the master that refuses.
    service.redis.server(old).ask::<()>("CONFIG SET min-replicas-max-lag 600").await;
    for replica in replicas {
        service.redis.server(replica).server.pause().expect("it runs");
    }
    let answers = KEYS.map(|key| client.submit_once("b", key, key));
    for answer in join_all(answers).await {
        let answer = answer.expect("an answer");
        assert_eq!((answer.status, answer.text("outcome").as_str()), (503, "unknown"), "{answer:?}");
    }
    assert_eq!(
        service.redis.server(old).ask::<usize>("XLEN dripfeed:{b}:jobs").await,
        KEYS.len(),
        "the master has them"
    );
    service.redis.server_mut(old).server.kill().await.expect("it runs");
    for replica in replicas {
        service.redis.server(replica).server.resume().expect("it runs");
    }
    // A processor doesn't start over a Redis without a replica.
    until("another master is followed", async || {
        let master = service.redis.master().await;
        master != old && service.redis.server(master).followers().await > 0
    })
    .await;
    let _processor = service.processor().await;
    let mut accepted = HashMap::new();
    for key in KEYS {
        until("it is accepted", async || client.submit_once("b", key, key).await.expect("an answer").status == 202)
            .await;
        let again = client.submit_once("b", key, key).await.expect("an answer");
        accepted.insert(key.to_owned(), again.text("id"));
    }
    service.store().connected().await;
    service.drained("b").await;
    assert_eq!(Seen { accepted, ..Seen::default() }.broken_at(&upstream), Broken::default());
}

/// Answers name the class as soon as Redis was looked at.
async fn names(intake: &Process, class: &str) {
    let named = async || intake.client().submit("b", "x").await.expect("an answer").text("durability") == class;
    until(&format!("answers name {class}"), named).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_name_what_redis_gives_now() {
    let service = Service::new("[buckets.b]\nupstream = \"http://127.0.0.1:9/\"\ncapacity = 100000").await;
    let intake = service.intake().await;
    names(&intake, "everysec").await;
    service.redis::<()>("CONFIG SET appendonly no").await;
    names(&intake, "process").await;
    service.redis::<()>("CONFIG SET appendonly yes").await;
    names(&intake, "everysec").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_name_less_than_fsync_when_redis_flushes_less() {
    let redis = TestRedis::with(always()).await;
    let buckets = "[buckets.b]\nupstream = \"http://127.0.0.1:9/\"\ncapacity = 100000";
    let service = Service::over(redis, Durability::Fsync, buckets).await;
    let intake = service.intake().await;
    names(&intake, "fsync").await;
    service.redis::<()>("CONFIG SET appendfsync everysec").await;
    names(&intake, "everysec").await;
    service.redis::<()>("CONFIG SET appendfsync always").await;
    names(&intake, "fsync").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_class_that_redis_is_set_to_later_is_named_too() {
    let upstream = Upstream::willing().await;
    let service = Service::new(&failover::buckets(&upstream)).await;
    let intake = service.intake().await;
    assert!(!intake.log().contains("maxmemory-policy"), "{}", intake.log());
    service.redis::<()>("CONFIG SET maxmemory-policy allkeys-lru").await;
    until("it is reported", async || intake.log().contains("Redis may evict accepted jobs")).await;
}
