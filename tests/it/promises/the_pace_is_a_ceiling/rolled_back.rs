//! Redis comes back with an older state of the pace: from its last snapshot, or as a replica that had fallen behind.
//! Calls that only the processors know of still count.

use std::time::{Duration, Instant};

use dripfeed_bucket::*;
use dripfeed_store::{Durability, RedisSettings, ServerOptions, Store};
use dripfeed_tests::buckets::{self, admitted, changed, join, open, takes_nothing};
use dripfeed_tests::redis_server::{RunningRedis, TestRedis};
use dripfeed_tests::sentinels::Sentinels;
use dripfeed_tests::service::{PATIENCE, Service, until};
use dripfeed_tests::upstream::Upstream;

const BURST: usize = 20;

/// Settings with a pace that grants only the burst during a test.
fn paced(kind: Kind) -> BucketSettings {
    let mut settings = BucketSettings { kind, ..buckets::settings("b") };
    settings.leak.rate = "1/h".parse().ok();
    settings.leak.burst = BURST as u64;
    settings
}

async fn fill(bucket: &Bucket) {
    for answer in bucket.admit_many((0..50).map(|job| buckets::job(job.to_string())).collect()).await {
        admitted(answer);
    }
}

/// A Redis with snapshots, and without an append-only file.
async fn with_snapshots() -> TestRedis {
    TestRedis::with(ServerOptions { append_only: false, ..ServerOptions::default() }).await
}

async fn crash(redis: &mut TestRedis) {
    redis.server.kill().await.unwrap();
    redis.server.start_again().await.unwrap();
}

/// How many jobs a take returns. It is repeated while Redis can't be reached.
async fn taken(replica: &Replica, most: usize) -> usize {
    let begun = Instant::now();
    loop {
        match replica.take(most).await {
            Ok(Take::Jobs(jobs, _)) => return jobs.len(),
            Ok(_) => return 0,
            Err(error) => assert!(begun.elapsed() < PATIENCE, "{error:?}"),
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Whether the replicas have reported to the running server what they know of the pace.
async fn has_settled(redis: &TestRedis) -> bool {
    let (server, settling): (Option<String>, Option<String>) =
        redis.ask("HMGET dripfeed:{b}:pace server settling").await;
    let info: String = redis.ask("INFO server").await;
    settling.is_none() && server.is_some_and(|server| info.contains(&format!("run_id:{server}")))
}

/// How many jobs these replicas take in turn until the pace has settled, and once more after it.
async fn taken_until_settled(redis: &TestRedis, replicas: &[&Replica]) -> usize {
    let (mut all, begun) = (0, Instant::now());
    loop {
        let is_last = has_settled(redis).await;
        for replica in replicas {
            all += taken(replica, 50).await;
        }
        if is_last {
            return all;
        }
        assert!(begun.elapsed() < PATIENCE, "the pace doesn't settle; {all} taken");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn the_replica_that_knows_most_is_waited_for() {
    for kind in [Kind::Stream, Kind::List] {
        let mut redis = with_snapshots().await;
        // Two buckets as in two processes, which share nothing.
        let (bucket, other) = (open(&redis, paced(kind)).await, open(&redis, paced(kind)).await);
        fill(&bucket).await;
        let (one, newest) = (join(&bucket, "one").await, join(&other, "newest").await);
        assert_eq!(taken(&one, 5).await, 5);
        redis.ask::<()>("SAVE").await;
        assert_eq!(taken(&newest, 10).await, 10);
        crash(&mut redis).await;
        let more = taken_until_settled(&redis, &[&one, &newest]).await;
        assert_eq!(more, BURST - 15, "{kind:?}");
        assert!(takes_nothing(&one).await && takes_nothing(&newest).await);
    }
}

#[tokio::test]
async fn a_member_that_joined_after_the_snapshot_is_waited_for() {
    let mut redis = with_snapshots().await;
    let (bucket, other) = (open(&redis, paced(Kind::Stream)).await, open(&redis, paced(Kind::Stream)).await);
    fill(&bucket).await;
    let one = join(&bucket, "one").await;
    assert_eq!(taken(&one, 1).await, 1);
    redis.ask::<()>("SAVE").await;
    let newest = join(&other, "newest").await;
    assert_eq!(taken(&newest, 50).await, BURST - 1);
    crash(&mut redis).await;
    assert_eq!(taken(&one, 50).await, 0);
    assert!(matches!(newest.take(50).await, Ok(Take::Fenced)));
    let newest = other.join(Consumer::new("again"), Duration::from_mins(1), JoinKind::Rejoin).await.unwrap();
    assert_eq!(taken_until_settled(&redis, &[&one, &newest]).await, 0);
}

#[tokio::test]
async fn what_is_older_than_the_first_take_is_known_too() {
    let mut redis = with_snapshots().await;
    let bucket = open(&redis, paced(Kind::Stream)).await;
    fill(&bucket).await;
    let replica = join(&bucket, "a").await;
    redis.ask::<()>("SAVE").await;
    assert_eq!(taken(&replica, 50).await, BURST);
    crash(&mut redis).await;
    assert_eq!(taken_until_settled(&redis, &[&replica]).await, 0);
}

#[tokio::test]
async fn a_restart_that_loses_nothing_goes_on_with_its_pace() {
    let mut redis = TestRedis::start().await;
    let mut settings = paced(Kind::Stream);
    settings.leak.rate = "1000/h".parse().ok();
    let bucket = open(&redis, settings).await;
    fill(&bucket).await;
    let replica = join(&bucket, "a").await;
    let begun = Instant::now();
    let mut all = taken(&replica, 5).await;
    for crashes in 1..=2 {
        crash(&mut redis).await;
        all += taken_until_settled(&redis, &[&replica]).await;
        assert!(all >= BURST, "{all} taken after {crashes} crashes");
    }
    // Once it has settled, nothing waits again.
    until("a token", async || taken(&replica, 1).await == 1).await;
    assert!(has_settled(&redis).await);
    let earned = begun.elapsed().as_secs_f64() / 3.6;
    assert!(((all + 1) as f64) <= BURST as f64 + earned, "{all} taken, {earned} earned");
}

#[tokio::test]
async fn a_window_that_ended_meanwhile_is_over() {
    let mut redis = TestRedis::start().await;
    let mut settings = paced(Kind::Stream);
    settings.leak.rate = None;
    let bucket = open(&redis, settings).await;
    let window = serde_json::json!([{ "kind": "fixed", "rate": "5/2s" }]);
    bucket.apply_overrides(&changed("leak.tiers", window)).await.unwrap();
    fill(&bucket).await;
    let replica = join(&bucket, "a").await;
    // Waits for a new window, because one grants nothing shortly before its end.
    until("a window", async || taken(&replica, 50).await == 5).await;
    crash(&mut redis).await;
    // The pace takes longer to settle than a window lasts.
    assert!(taken_until_settled(&redis, &[&replica]).await > 0);
}

#[tokio::test]
async fn a_clock_that_is_put_back_while_it_settles_stalls_nothing() {
    let mut redis = with_snapshots().await;
    let bucket = open(&redis, paced(Kind::Stream)).await;
    fill(&bucket).await;
    let replica = join(&bucket, "a").await;
    assert_eq!(taken(&replica, 5).await, 5);
    redis.ask::<()>("SAVE").await;
    crash(&mut redis).await;
    assert_eq!(taken(&replica, 50).await, 0);
    let (seconds, _): (u64, u64) = redis.ask("TIME").await;
    redis.ask::<()>(&format!("HSET dripfeed:{{b}}:pace settling {}", (seconds + 3600) * 1_000_000)).await;
    assert_eq!(taken_until_settled(&redis, &[&replica]).await, BURST - 5);
}

#[tokio::test]
async fn where_info_is_denied_it_goes_on_as_before() {
    let mut redis = with_snapshots().await;
    redis.ask::<()>("ACL SETUSER default -info").await;
    let bucket = open(&redis, paced(Kind::Stream)).await;
    fill(&bucket).await;
    let replica = join(&bucket, "a").await;
    assert_eq!(taken(&replica, 5).await, 5);
    assert_eq!(taken(&replica, 50).await, BURST - 5);
    // Before Redis 7.0 a script finds out only by trying whether a command is allowed.
    let may_ask: u64 = redis.ask("EVAL return(redis.acl_check_cmd)and(1)or(0) 0").await;
    let denied: Vec<redis::Value> = redis.ask("ACL LOG").await;
    assert!(may_ask == 0 || denied.is_empty(), "{denied:?}");
    let server: Option<String> = redis.ask("HGET dripfeed:{b}:pace server").await;
    assert_eq!(server, None);
    redis.server.kill().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_processor_makes_no_second_burst() {
    let upstream = Upstream::willing().await;
    let buckets = format!(
        "[buckets.b]\nupstream = \"{}\"\n[buckets.b.leak]\nrate = \"1/h\"\nburst = {BURST}\nconcurrency = 50",
        upstream.url()
    );
    let mut service = Service::over(with_snapshots().await, Durability::Process, &buckets).await;
    let (intake, _processor) = (service.intake().await, service.processor().await);
    let submit = async || {
        let accepted = async || intake.client().submit("b", "x").await.expect("an answer").status == 202;
        until("it is accepted", accepted).await;
    };
    submit().await;
    upstream.has_got(1).await;
    service.redis.ask::<()>("SAVE").await;
    for _ in 0..30 {
        submit().await;
    }
    // Not the whole burst: a grant that comes late is charged, but not used.
    upstream.has_got(BURST / 2).await;
    crash(&mut service.redis).await;
    for _ in 0..30 {
        submit().await;
    }
    until("it has settled", async || has_settled(&service.redis).await || upstream.count() > BURST).await;
    let state = async || service.redis.ask::<Vec<u8>>("GET dripfeed:{b}:pace:tiers").await;
    for _ in 0..2 {
        let before = state().await;
        until("another take", async || state().await != before).await;
    }
    let calls = upstream.count();
    assert!(calls <= BURST, "{calls} calls with a burst of {BURST}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_had_fallen_behind_makes_no_second_burst() {
    let mut redis = Sentinels::start(1, "").await;
    let settings = RedisSettings::new(redis.url().parse().unwrap(), "dripfeed", Durability::Everysec);
    let bucket = Bucket::new(Store::connect(&settings).await.unwrap(), paced(Kind::Stream));
    fill(&bucket).await;
    let replica = join(&bucket, "a").await;
    assert_eq!(taken(&replica, 5).await, 5);
    let behind = 1 - redis.master().await;
    let old = redis.server(1 - behind);
    for server in [old, redis.server(behind)] {
        server.ask::<()>("CONFIG SET min-replicas-to-write 0").await;
    }
    redis.server(behind).server.pause().unwrap();
    old.ask::<u64>("CLIENT KILL TYPE replica").await;
    assert_eq!(taken(&replica, 50).await, BURST - 5);
    redis.server_mut(1 - behind).server.kill().await.unwrap();
    redis.server(behind).server.resume().unwrap();
    until("it is the master", async || redis.server(behind).is_master().await).await;
    assert_eq!(taken_until_settled(redis.server(behind), &[&replica]).await, 0);
}
