//! A process that serves a bucket without being a member.

use std::time::Duration;

use dripfeed_bucket::*;
use dripfeed_tests::buckets::{self, DELIVERED, join, settle, submit, take, take_one};
use dripfeed_tests::redis_server::TestRedis;
use dripfeed_tests::service::until;

const LEASE: Duration = Duration::from_mins(1);
const LOOK: Duration = Duration::from_mins(1);

fn settings(name: &str, kind: Kind) -> BucketSettings {
    BucketSettings { kind, ..buckets::settings(name) }
}

fn again() -> Consumer {
    Consumer::new("again")
}

#[tokio::test]
async fn a_look_shows_jobs_at_once_and_members_when_they_stay() {
    for kind in [Kind::Stream, Kind::List] {
        let redis = TestRedis::start().await;
        let bucket = buckets::open(&redis, settings("b", kind)).await;
        let standby = join(&bucket, "a").await.stand_by().await.unwrap();
        assert!(!standby.check(LOOK).await.unwrap(), "{kind:?}: nothing is there");
        let other = join(&bucket, "other").await;
        assert!(!standby.check(LOOK).await.unwrap(), "{kind:?}: it may be about to leave");
        assert!(standby.check(LOOK).await.unwrap(), "{kind:?}: it may be dead");
        other.leave().await.unwrap();
        assert!(!standby.check(LOOK).await.unwrap(), "{kind:?}");
        submit(&bucket, buckets::job("{}")).await;
        assert!(standby.check(LOOK).await.unwrap(), "{kind:?}: a job waits");
        take(&standby.join(again(), LEASE).await.unwrap(), 1).await;
        assert!(standby.check(LOOK).await.unwrap(), "{kind:?}: a job is in flight");
    }
}

#[tokio::test]
async fn a_process_on_standby_is_shown_as_a_replica_until_it_joins_or_ends() {
    let redis = TestRedis::start().await;
    let bucket = buckets::open(&redis, settings("b", Kind::Stream)).await;
    let replicas = async || {
        let replicas = bucket.census().await.unwrap().replicas;
        replicas.into_iter().map(|replica| replica.consumer).collect::<Vec<_>>()
    };
    let standby = join(&bucket, "a").await.stand_by().await.unwrap();
    assert!(replicas().await.is_empty(), "it hasn't looked");
    standby.check(LOOK).await.unwrap();
    assert_eq!(replicas().await, ["a"]);
    let replica = standby.join(again(), LEASE).await.unwrap();
    assert_eq!(replicas().await, ["again"]);
    let standby = replica.stand_by().await.unwrap();
    standby.check(LOOK).await.unwrap();
    standby.end().await.unwrap();
    assert!(replicas().await.is_empty());
    assert_eq!(redis.store().await.command::<u64>(&redis::Cmd::exists("dripfeed:{b}:standby")).await.unwrap(), 0);
}

#[tokio::test]
async fn only_the_first_of_several_processes_on_standby_joins() {
    for kind in [Kind::Stream, Kind::List] {
        let redis = TestRedis::start().await;
        let bucket = buckets::open(&redis, settings("b", kind)).await;
        let [a, b] = ["a", "b"].map(|name| bucket.stand_by(Consumer::new(name)));
        let first = a.join_first(Consumer::new("first"), LEASE).await.unwrap().expect("nobody is there");
        assert!(b.join_first(again(), LEASE).await.unwrap().is_none(), "{kind:?}: there is a member");
        first.leave().await.unwrap();
        assert!(b.join_first(again(), LEASE).await.unwrap().is_some(), "{kind:?}: it has left");
    }
}

#[tokio::test]
async fn one_of_the_processes_that_serve_the_same_buckets_sweeps() {
    let redis = TestRedis::start().await;
    let mut served = Vec::new();
    for name in ["b", "c"] {
        served.push(buckets::open(&redis, settings(name, Kind::Stream)).await);
    }
    let [mut a, mut b, mut other] = ["a", "b", "other"].map(|name| Sweeper::new(Consumer::new(name)));
    let sweep = async |sweeper: &mut Sweeper, served: &[Bucket]| sweeper.next_sweep(served).await;
    assert_eq!(sweep(&mut a, &served).await, Sweep::ForAll);
    assert_eq!(sweep(&mut other, &served[1..]).await, Sweep::ForAll, "it serves others");
    let mut of_b = Vec::new();
    for _ in 0..40 {
        of_b.push(sweep(&mut b, &served).await);
        assert_eq!(sweep(&mut a, &served).await, Sweep::ForAll);
    }
    assert!(of_b.contains(&Sweep::ForItself) && of_b.contains(&Sweep::Skipped), "{of_b:?}");
    assert!(!of_b.contains(&Sweep::ForAll), "{of_b:?}");
    // The process that swept before is gone.
    let b = tokio::sync::Mutex::new(b);
    until("another sweeps", async || sweep(&mut *b.lock().await, &served).await == Sweep::ForAll).await;
}

#[tokio::test]
async fn a_turn_to_sweep_ends_though_the_clock_of_redis_is_set_back() {
    let redis = TestRedis::start().await;
    let served = [buckets::open(&redis, settings("b", Kind::Stream)).await];
    assert_eq!(Sweeper::new(Consumer::new("dead")).next_sweep(&served).await, Sweep::ForAll);
    let sweeper: Vec<String> = redis.ask("KEYS *sweeper*").await;
    // As after the clock was set back: the sweeper's lease ends only in an hour.
    redis.ask::<u64>(&format!("PEXPIRE {} 3600000", sweeper[0])).await;
    assert_eq!(Sweeper::new(Consumer::new("alive")).next_sweep(&served).await, Sweep::ForAll);
}

#[tokio::test]
async fn jobs_found_by_a_sweep_are_announced() {
    let redis = TestRedis::start().await;
    let bucket = buckets::open(&redis, settings("b", Kind::Stream)).await;
    let mut announcements = bucket.stand_by(Consumer::new("a")).announcements();
    // Announces jobs repeatedly, as the channel may not be subscribed to yet.
    let again_and_again = async {
        loop {
            announce_jobs([&bucket].into_iter()).await;
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        () = announcements.next() => {}
        () = again_and_again => {}
    }
}

#[tokio::test]
async fn a_process_without_further_checks_is_removed_from_standby() {
    let redis = TestRedis::start().await;
    let bucket = buckets::open(&redis, settings("b", Kind::Stream)).await;
    let store = redis.store().await;
    store.command::<u64>(&redis::Cmd::hset("dripfeed:{b}:standby", "long gone", 1)).await.unwrap();
    store.command::<u64>(&redis::Cmd::hset("dripfeed:{b}:standby", "gone, of many", "1 1800000")).await.unwrap();
    let standby = join(&bucket, "a").await.stand_by().await.unwrap();
    standby.check(LOOK).await.unwrap();
    let known: Vec<String> = store.command(&redis::Cmd::hkeys("dripfeed:{b}:standby")).await.unwrap();
    assert_eq!(known, ["a"]);
    let mut ttl = redis::cmd("PTTL");
    ttl.arg("dripfeed:{b}:standby");
    assert!(store.command::<i64>(&ttl).await.unwrap() > 0, "and so is the last one");
}

#[tokio::test]
async fn a_process_with_rare_checks_is_kept_on_standby_for_longer() {
    let redis = TestRedis::start().await;
    let bucket = buckets::open(&redis, settings("b", Kind::Stream)).await;
    let store = redis.store().await;
    let (many, few) = (Standby::check_interval(10_000), Standby::check_interval(1));
    assert_eq!((many, few), (10 * LOOK, LOOK));
    let [seldom, often] = ["seldom", "often"].map(|name| bucket.stand_by(Consumer::new(name)));
    seldom.check(many).await.unwrap();
    often.check(few).await.unwrap();
    // As if the process had reported ten minutes ago.
    let noted: String = store.command(&redis::Cmd::hget("dripfeed:{b}:standby", "seldom")).await.unwrap();
    let (at, lasts) = noted.split_once(' ').expect("how long it is known");
    let ago = format!("{} {lasts}", at.parse::<u64>().unwrap() - 600_000);
    store.command::<u64>(&redis::Cmd::hset("dripfeed:{b}:standby", "seldom", ago)).await.unwrap();
    often.check(few).await.unwrap();
    let mut known: Vec<String> = store.command(&redis::Cmd::hkeys("dripfeed:{b}:standby")).await.unwrap();
    known.sort();
    assert_eq!(known, ["often", "seldom"]);
    let mut ttl = redis::cmd("PTTL");
    ttl.arg("dripfeed:{b}:standby");
    assert!(store.command::<u64>(&ttl).await.unwrap() > 600_000, "the key lasts as long");
}

#[tokio::test]
async fn tokens_earned_on_standby_are_available_at_once() {
    let redis = TestRedis::start().await;
    let mut paced = settings("b", Kind::Stream);
    paced.leak.rate = Some("1/s".parse().unwrap());
    let bucket = buckets::open(&redis, paced).await;
    let replica = join(&bucket, "a").await;
    submit(&bucket, buckets::job("1")).await;
    settle(&replica, take_one(&replica).await, DELIVERED).await;
    let standby = replica.stand_by().await.unwrap();
    submit(&bucket, buckets::job("2")).await;
    // The test needs time to pass. More of it doesn't change the result.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let replica = standby.join(again(), LEASE).await.unwrap();
    assert_eq!(take(&replica, 10).await.len(), 1);
}

#[tokio::test]
async fn buckets_with_jobs_are_found_together_whatever_others_hold() {
    let redis = TestRedis::start().await;
    let store = redis.store().await;
    let open = |name: &str, kind| Bucket::new(store.clone(), settings(name, kind));
    let names: Vec<String> = (0..450).map(|number| format!("b{number}")).collect();
    let kind = |number: usize| if number.is_multiple_of(2) { Kind::Stream } else { Kind::List };
    let all: Vec<Bucket> = names.iter().enumerate().map(|(number, name)| open(name, kind(number))).collect();
    for number in [0, 7, 199, 200, 449] {
        submit(&all[number], buckets::job("{}")).await;
    }
    let with_jobs = async || {
        let found = with_jobs(&all).await.unwrap();
        found.iter().enumerate().filter(|(_, has_jobs)| **has_jobs).map(|(at, _)| at).collect::<Vec<_>>()
    };
    assert_eq!(with_jobs().await, [0, 7, 199, 200, 449]);
    store.command::<()>(&redis::Cmd::set("dripfeed:{b3}:jobs", "no list")).await.unwrap();
    assert_eq!(with_jobs().await, [0, 7, 199, 200, 449]);
}

#[tokio::test]
async fn each_process_sweeps_while_redis_is_full() {
    let redis = TestRedis::start().await;
    let served = [buckets::open(&redis, settings("b", Kind::Stream)).await];
    let () = redis.ask("CONFIG SET maxmemory 1").await;
    for name in ["a", "b"] {
        assert_eq!(Sweeper::new(Consumer::new(name)).next_sweep(&served).await, Sweep::ForItself);
    }
}
