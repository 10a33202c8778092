use std::process::Output;
use std::time::Duration;

use dripfeed_bucket::{BucketSettings, Kind, Settlement};
use dripfeed_job::Submission;
use dripfeed_job::idempotency::IdempotencyKey;
use dripfeed_tests::buckets::{self, DELIVERED, join, settle, submit, take_one};
use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};
use dripfeed_tests::service::Service;

use super::faults;

pub const SCRIPTS: [&str; 22] = [
    "check_attempt_records",
    "check_byte_counts",
    "check_calls_in_flight",
    "check_claim_counts",
    "check_dead_letters",
    "check_due_times",
    "check_idempotency_keys",
    "check_largest_ids",
    "check_letter_index",
    "check_letter_sizes",
    "check_outcome_order",
    "check_outcome_records",
    "check_totals",
    "examine",
    "forget_place",
    "installation",
    "key_types",
    "leaving",
    "moved",
    "other_kind",
    "register_places",
    "registered_places",
];

/// Those that a doctor asks of its buckets.
const OF_A_DOCTOR: [&str; 15] = [
    "check_attempt_records",
    "check_byte_counts",
    "check_calls_in_flight",
    "check_claim_counts",
    "check_dead_letters",
    "check_due_times",
    "check_idempotency_keys",
    "check_largest_ids",
    "check_letter_index",
    "check_letter_sizes",
    "check_outcome_order",
    "check_outcome_records",
    "check_totals",
    "examine",
    "key_types",
];

const BUCKETS: &str = r#"
[buckets]
b = { upstream = "http://127.0.0.1:1/", capacity = 1000 }
list = { upstream = "http://127.0.0.1:1/", kind = "list" }
"#;

/// What makes a doctor ask each of them.
async fn fill(service: &Service) {
    let of = |kind, name| BucketSettings { kind, ..buckets::settings(name) };
    let stream = buckets::open(&service.redis, of(Kind::Stream, "b")).await;
    let list = buckets::open(&service.redis, of(Kind::List, "list")).await;
    join(&list, "r").await;
    let replica = join(&stream, "r").await;
    submit(&stream, buckets::job("tried again")).await;
    let retry = Settlement::Retry { after: Duration::from_hours(1) };
    settle(&replica, take_one(&replica).await, retry).await;
    submit(&stream, buckets::job("delivered")).await;
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    let idempotency_key = IdempotencyKey::parse("of one that waits").ok();
    submit(&stream, Submission { idempotency_key, ..buckets::job("waits") }).await;
    // A call that is under way no more.
    service.redis.ask::<u64>("HSET dripfeed:{b}:flow-state 7-0 1").await;
    // Of a letter that is gone.
    service.redis.ask::<u64>("HSET dripfeed:{b}:dead:letters 7-0 8-0").await;
    service.redis.ask::<u64>("ZADD dripfeed:{b}:dead:sizes 8 8-0/100/7-0").await;
}

#[tokio::test]
async fn a_doctor_who_cannot_look_says_so() {
    let service = Service::new(BUCKETS).await;
    fill(&service).await;
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let examine = async || {
        let mut doctor = service.command(&[&format!("redis.url={}", proxy.url())]);
        doctor.arg("doctor").output().await.expect("the executable")
    };
    let has_looked = |ended: &Output| {
        let found = String::from_utf8_lossy(&ended.stdout);
        ended.status.code() == Some(1) && found.contains("index entries of missing dead letters")
    };
    assert!(has_looked(&examine().await));
    for (name, fault) in OF_A_DOCTOR.into_iter().flat_map(|name| faults().map(move |fault| (name, fault))) {
        proxy.plan(name, fault, 1);
        let ended = examine().await;
        assert!(proxy.has_done(name), "{name}: {fault:?}");
        let told = String::from_utf8_lossy(&ended.stderr);
        let is = |code| matches!(fault, ProxyFault::Error(error) if error.starts_with(code));
        // It asks again where no jobs are under a key that seemed to be of another type.
        if is("NOSCRIPT") || is("WRONGTYPE") && has_looked(&ended) {
            assert!(has_looked(&ended), "{name}: {ended:?}");
            continue;
        }
        assert!(matches!(ended.status.code(), Some(1 | 69 | 77)), "{name}: {fault:?}: {ended:?}");
        let says_why = told.contains(&format!("script {name}: "));
        assert!(says_why && !told.contains("panicked"), "{name}: {fault:?}: {told}");
    }
    assert!(has_looked(&examine().await));
}

#[tokio::test]
async fn a_stream_that_redis_does_not_delete_makes_way_for_a_list_the_next_time() {
    let service = Service::new(BUCKETS).await;
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let examine = async || {
        let mut doctor = service.command(&[&format!("redis.url={}", proxy.url())]);
        doctor.args(["doctor", "list"]).output().await.expect("the executable")
    };
    for fault in faults() {
        service.redis.ask::<String>("XGROUP CREATE dripfeed:{list}:jobs processors 0 MKSTREAM").await;
        proxy.plan("other_kind", fault, 1);
        let ended = examine().await;
        assert!(proxy.has_done("other_kind"), "{fault:?}: {ended:?}");
        assert!(matches!(ended.status.code(), Some(0 | 1 | 69 | 77)), "{fault:?}: {ended:?}");
        let ended = examine().await;
        assert!(ended.status.success(), "{fault:?}: {ended:?}");
        assert_eq!(service.redis.ask::<u64>("EXISTS dripfeed:{list}:jobs").await, 0, "{fault:?}");
    }
}

/// Those of the move alone.
const OF_A_MOVE: [&str; 3] = ["leaving", "moved", "registered_places"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_move_that_redis_breaks_off_is_done_again_and_each_job_is_moved_once() {
    let service = Service::new(BUCKETS).await;
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let url = format!("redis.url={}", proxy.url());
    let gone = buckets::open(&service.redis, buckets::settings("gone")).await;
    let mut jobs = 0;
    for (name, fault) in OF_A_MOVE.into_iter().flat_map(|name| faults().map(move |fault| (name, fault))) {
        submit(&gone, buckets::job(jobs.to_string())).await;
        jobs += 1;
        let run = async || {
            service.silence("gone stream ").await;
            let mut drain = service.command(&[&url]);
            drain.args(["drain", "gone", "--into", "b"]).output().await.expect("the executable")
        };
        proxy.plan(name, fault, 1);
        let ended = run().await;
        assert!(proxy.has_done(name), "{name}: {fault:?}");
        let told = String::from_utf8_lossy(&ended.stderr);
        assert!(matches!(ended.status.code(), Some(0 | 1 | 69 | 77)), "{name}: {fault:?}: {ended:?}");
        assert!(ended.status.success() || told.contains(&format!("script {name}: ")), "{name}: {fault:?}: {told}");
        assert!(!told.contains("panicked"), "{told}");
        if !ended.status.success() {
            assert!(run().await.status.success(), "{name}: {fault:?}");
        }
        let levels = (service.level("gone").await, service.level("b").await);
        assert_eq!(levels, (0, jobs), "{name}: {fault:?}");
    }
}

/// What is asked while a role starts; login included.
const AT_START: [&str; 5] = ["HELLO", "PING", "INFO", "CONFIG", "installation"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_starts_when_redis_can_serve_it() {
    let service = Service::new(BUCKETS).await;
    let proxy = RedisFaultProxy::before(&service.redis).await;
    let url = format!("redis.url={}", proxy.url());
    for name in AT_START {
        for fault in [
            ProxyFault::Error("LOADING Redis is loading the dataset in memory"),
            ProxyFault::Error("MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."),
            ProxyFault::Drop,
            ProxyFault::Half,
        ] {
            proxy.plan(name, fault, 2);
            let intake = service.role("intake", &[&url]).await;
            assert!(proxy.has_done(name), "{name}");
            assert!(!intake.log().contains("panicked"), "{}", intake.log());
        }
    }
}

/// In those words alone: there is no code for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_role_waits_for_a_redis_that_takes_no_more_clients() {
    let service = Service::new(BUCKETS).await;
    let proxy = RedisFaultProxy::before(&service.redis).await;
    proxy.plan("HELLO", ProxyFault::Error("ERR max number of clients reached"), 4);
    service.role("intake", &[&format!("redis.url={}", proxy.url())]).await;
    assert!(proxy.has_done("HELLO"));
}
