//! Promise 4: In any window w the upstream gets at most rate·w + burst calls, summed over all replicas, also during
//! crashes, restarts and clock steps. When the shared pace can't be read, nothing is sent.

mod batches;
mod burst_of_one;
mod quotas;
/// A Redis that comes back with an older state.
mod rolled_back;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use dripfeed_bucket::*;
use dripfeed_store::{AppendFsync, Durability, ServerOptions};
use dripfeed_tests::buckets::{self, admitted, changed, join, open, settle, submit, take, take_one, takes_nothing};
use dripfeed_tests::machine::stalls::Stalls;
use dripfeed_tests::processes::Process;
use dripfeed_tests::proxy::{Behind, Proxy};
use dripfeed_tests::redis_server::{RunningRedis, TestRedis};
use dripfeed_tests::sentinels::Sentinels;
use dripfeed_tests::service::{PATIENCE, Service, until};
use dripfeed_tests::torture::breakpoint::Breakpoints;
use dripfeed_tests::upstream::Upstream;
use dripfeed_tests::upstream::ceiling::Ceiling;
use dripfeed_tests::wall_clock::WallClock;
use tokio::time::sleep;

const CEILING: Ceiling = Ceiling { rate_per_s: 400.0, burst: 200.0 };
const LEAK: &str = "rate = \"200/500ms\"\nburst = 200";
/// How long calls are measured, without the times when the machine is stalled.
const WINDOW: Duration = Duration::from_secs(10);

/// A paused bucket with a backlog that lasts longer than the test, and the intake that filled it.
async fn backlog(upstream: &Upstream) -> (Service, Process) {
    backlog_over(TestRedis::start().await, Durability::Everysec, upstream, LEAK).await
}

async fn backlog_over<R: RunningRedis>(
    redis: R,
    durability: Durability,
    upstream: &Upstream,
    leak: &str,
) -> (Service<R>, Process) {
    let settings = format!(
        "[buckets.b]\nupstream = \"{}\"\ncapacity = 10000\n[buckets.b.leak]\n{leak}\nconcurrency = 50",
        upstream.url()
    );
    let service = Service::quiet(redis, durability, &settings).await;
    let intake = service.intake().await;
    operate(&intake, "pause").await;
    let jobs: Vec<_> = (0..1000).map(|n| format!("{{\"body\":{n}}}")).collect();
    for _ in 0..6 {
        let answer = intake.client().post("/v1/buckets/b/jobs/batch", jobs.join("\n")).await.expect("an answer");
        assert_eq!(answer.status, 202, "{answer:?}");
    }
    (service, intake)
}

async fn operate(intake: &Process, what: &str) {
    let answer = intake.client().post(&format!("/v1/buckets/b/{what}"), "").await.expect("an answer");
    assert_eq!(answer.status, 200, "{answer:?}");
}

fn arrivals(upstream: &Upstream) -> Vec<Instant> {
    upstream.calls().iter().map(|call| call.arrived).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_replicas_together_keep_the_pace_and_use_it() {
    let upstream = Upstream::willing().await;
    let (service, intake) = backlog(&upstream).await;
    let _processors = [service.processor().await, service.processor().await, service.processor().await];
    operate(&intake, "resume").await;
    upstream.has_got(1).await;
    let (begun, stalls) = (Instant::now(), Stalls::watch(service.store().clone()));
    while stalls.went_on() < WINDOW && begun.elapsed() < PATIENCE / 2 {
        sleep(Duration::from_millis(50)).await;
    }
    let (went_on, arrivals) = (stalls.went_on().min(WINDOW), arrivals(&upstream));
    let calls = arrivals.len();
    let over = CEILING.excess(arrivals);
    assert!(over <= 0.0, "{over} calls above the ceiling in some window");
    // A calm machine reaches 99 % of the ceiling. A busy one reaches less, but while it isn't stalled, at least half.
    let most = CEILING.rate_per_s * went_on.as_secs_f64() + CEILING.burst;
    assert!(calls as f64 >= most / 2.0, "{calls} calls of {most} in {went_on:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deaths_pauses_and_restarts_make_no_more_calls() {
    let upstream = Upstream::willing().await;
    let (service, intake) = backlog(&upstream).await;
    let (mut killed, paused) = (service.processor().await, service.processor().await);
    let _third = service.processor().await;
    operate(&intake, "resume").await;
    upstream.has_got(800).await;
    killed.kill().await;
    paused.pause();
    sleep(Duration::from_millis(700)).await;
    paused.resume();
    let _fourth = service.processor().await;
    upstream.has_got(2000).await;
    // The processor is suspended for long enough to be declared dead, and has to join again.
    paused.pause();
    let living = async || service.redis::<u64>("HLEN dripfeed:{b}:replicas").await;
    until("both are declared dead", async || living().await == 2).await;
    paused.resume();
    upstream.has_got(4000).await;
    let over = CEILING.excess(arrivals(&upstream));
    assert!(over <= 0.0, "{over} calls above the ceiling in some window");
}

/// The replies of the server on `socket` reach two replicas late for a while, twice.
async fn late_replies_make_no_more_calls<R: RunningRedis>(redis: R, socket: PathBuf, durability: Durability) {
    const LATE: Duration = Duration::from_millis(850);
    let upstream = Upstream::willing().await;
    let (service, intake) = backlog_over(redis, durability, &upstream, LEAK).await;
    let (mut proxies, mut processors) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        let proxy = Proxy::before(Behind::Redis { socket: socket.clone(), breakpoints: Breakpoints::default() }).await;
        let url = format!("redis.url=redis://{}", proxy.address);
        let patient = [url.as_str(), "redis.response_timeout=2s", "processor.lease=10s"];
        processors.push(service.role("processor", &patient).await);
        proxies.push(proxy);
    }
    operate(&intake, "resume").await;
    upstream.has_got(300).await;
    for late in [LATE, Duration::ZERO, LATE, Duration::ZERO] {
        for link in proxies.iter().flat_map(Proxy::links) {
            link.delay_replies(late);
        }
        upstream.has_got(upstream.count() + 150).await;
    }
    let over = CEILING.excess(arrivals(&upstream));
    assert!(over <= 0.0, "{over} calls above the ceiling in some window, with {durability}");
}

fn socket_of(redis: &TestRedis) -> PathBuf {
    redis.folder().join("redis.sock")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_replies_make_no_more_calls_with_process() {
    let redis = TestRedis::start().await;
    let socket = socket_of(&redis);
    late_replies_make_no_more_calls(redis, socket, Durability::Process).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_replies_make_no_more_calls_with_everysec() {
    let redis = TestRedis::start().await;
    let socket = socket_of(&redis);
    late_replies_make_no_more_calls(redis, socket, Durability::Everysec).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_replies_make_no_more_calls_with_fsync() {
    let always = ServerOptions { append_fsync: AppendFsync::Always, ..ServerOptions::default() };
    let redis = TestRedis::with(always).await;
    let socket = socket_of(&redis);
    late_replies_make_no_more_calls(redis, socket, Durability::Fsync).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn late_replies_make_no_more_calls_with_replicated() {
    let redis = Sentinels::start(1, "").await;
    let socket = socket_of(redis.server(redis.master().await));
    late_replies_make_no_more_calls(redis, socket, Durability::Replicated).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_redis_is_silent_nothing_is_sent() {
    let upstream = Upstream::willing().await;
    let (service, intake) = backlog(&upstream).await;
    let _processors = [service.processor().await, service.processor().await];
    operate(&intake, "resume").await;
    upstream.has_got(300).await;
    service.redis.server.pause().unwrap();
    let silent = Instant::now();
    sleep(Duration::from_secs(6)).await;
    let back = Instant::now();
    service.redis.server.resume().unwrap();
    let calls = upstream.calls().len();
    upstream.has_got(calls + 300).await;

    let arrivals = arrivals(&upstream);
    // Jobs that were taken before are called or requeued within this time.
    let settled = silent + Duration::from_secs(3);
    let meanwhile = arrivals.iter().filter(|arrival| (settled..back).contains(arrival)).count();
    assert_eq!(meanwhile, 0, "calls without a pace");
    assert!(CEILING.excess(arrivals) <= 0.0);
}

/// A bucket with a backlog whose burst is spent, and its replica.
async fn spent(redis: &TestRedis, rate: &str, burst: u64) -> (Bucket, Replica) {
    let mut settings = buckets::settings("b");
    settings.leak.rate = rate.parse().ok();
    settings.leak.burst = burst;
    let bucket = open(redis, settings).await;
    for answer in bucket.admit_many((0..50).map(|n| buckets::job(n.to_string())).collect()).await {
        admitted(answer);
    }
    let replica = join(&bucket, "a").await;
    take(&replica, 50).await;
    (bucket, replica)
}

const STATE: &str = "dripfeed:{b}:pace:tiers";

/// Changes the state of the pace as if it had been written this many µs earlier.
async fn put_forward(redis: &TestRedis, us: i64) {
    let script = "local state = redis.call('GET', KEYS[1])
                  local last = struct.unpack('<I7', state) - ARGV[1]
                  redis.call('SET', KEYS[1], struct.pack('<I7', last) .. string.sub(state, 8), 'KEEPTTL')";
    let mut eval = redis::cmd("EVAL");
    redis.store().await.command::<()>(eval.arg(script).arg(1).arg(STATE).arg(us)).await.unwrap();
}

async fn lose_the_pace(redis: &TestRedis) {
    let lost: u64 = redis.store().await.command(redis::cmd("DEL").arg(STATE)).await.unwrap();
    assert_eq!(lost, 1);
}

#[tokio::test]
async fn a_clock_that_is_put_forward_makes_no_burst() {
    let redis = TestRedis::start().await;
    let (_bucket, replica) = spent(&redis, "1/s", 20).await;
    put_forward(&redis, 3_600_000_000).await;
    let taken = match replica.take(50).await.unwrap() {
        Take::Jobs(jobs, _) => jobs.len(),
        _ => 0,
    };
    assert!(taken <= 2, "{taken} calls more, within a second");
}

#[tokio::test]
async fn one_that_is_put_forward_gives_nothing_again_that_others_have_used() {
    let clock = WallClock::new();
    let options = ServerOptions { environment: clock.environment(), ..ServerOptions::default() };
    let redis = TestRedis::with(options).await;
    let (bucket, other) = spent(&redis, "1/s", 1).await;
    let one = join(&bucket, "one").await;
    assert!(takes_nothing(&one).await);
    until("a token", async || !takes_nothing(&other).await).await;
    redis.set_clock(&clock, 3600).await;
    assert!(takes_nothing(&one).await);
}

#[tokio::test]
async fn a_clock_that_is_put_back_makes_no_burst_and_no_stall() {
    let redis = TestRedis::start().await;
    let (_bucket, replica) = spent(&redis, "100/s", 20).await;
    put_forward(&redis, -3_600_000_000).await;
    assert!(takes_nothing(&replica).await);
    let begun = Instant::now();
    until("a token", async || !takes_nothing(&replica).await).await;
    assert!(begun.elapsed() < Duration::from_secs(60), "a token took {:?}", begun.elapsed());
}

/// How long the pace is still throttled, by the Redis clock. Returns `None` if it isn't.
async fn throttled_for(redis: &TestRedis) -> Option<Duration> {
    let (seconds, micros): (u64, u64) = redis.ask("TIME").await;
    let until: Option<u64> = redis.ask("HGET dripfeed:{b}:pace hold").await;
    until?.checked_sub(seconds * 1000 + micros / 1000).map(Duration::from_millis)
}

/// How long the upstream asks to be left alone.
const ASKED: Duration = Duration::from_secs(600);
/// How late a command may reach Redis.
const ON_ITS_WAY: Duration = Duration::from_secs(5);

/// A bucket with jobs, over a Redis with this clock.
async fn filled(clock: &WallClock, jobs: usize) -> (TestRedis, Bucket) {
    let redis = TestRedis::with(ServerOptions { environment: clock.environment(), ..ServerOptions::default() }).await;
    let bucket = open(&redis, buckets::settings("b")).await;
    for job in 0..jobs {
        submit(&bucket, buckets::job(job.to_string())).await;
    }
    (redis, bucket)
}

#[tokio::test]
async fn an_upstream_is_left_alone_for_as_long_as_it_asked_however_the_clock_is_set() {
    let clock = WallClock::new();
    let (redis, bucket) = filled(&clock, 2).await;
    let (replica, other) = (join(&bucket, "a").await, join(&bucket, "b").await);
    let taken = take_one(&replica).await;
    let settled = Instant::now();
    settle(&replica, taken, Settlement::Throttled { wait: Some(ASKED) }).await;
    for ahead in [3600, 3590, 86_400, 0, -3600] {
        redis.set_clock(&clock, ahead).await;
        assert!(takes_nothing(&replica).await, "granted with the clock at {ahead} s");
        assert!(takes_nothing(&other).await, "granted with the clock at {ahead} s");
        let left = throttled_for(&redis).await.expect("it is throttled");
        assert!((ASKED - settled.elapsed() - ON_ITS_WAY..=ASKED).contains(&left), "{left:?} at {ahead} s");
        // A new replica knows nothing of the time before it.
        let new = join(&bucket, &format!("new at {ahead}")).await;
        assert!(takes_nothing(&new).await, "granted to one that came new");
    }
}

#[tokio::test]
async fn a_replica_that_asks_rarely_ends_no_throttle_early_when_the_clock_is_set() {
    let clock = WallClock::new();
    let (redis, bucket) = filled(&clock, 2).await;
    let (replica, rare) = (join(&bucket, "a").await, join(&bucket, "b").await);
    let taken = take_one(&replica).await;
    let settled = Instant::now();
    settle(&replica, taken, Settlement::Throttled { wait: Some(ASKED) }).await;
    assert!(takes_nothing(&rare).await);
    sleep(Duration::from_millis(500)).await;
    assert!(takes_nothing(&replica).await);
    redis.set_clock(&clock, 3600).await;
    assert!(takes_nothing(&rare).await);
    let left = throttled_for(&redis).await.expect("it is throttled");
    assert!(left >= ASKED - settled.elapsed() - ON_ITS_WAY, "{left:?} after {:?}", settled.elapsed());
}

#[tokio::test]
async fn an_upstream_that_asks_again_is_left_alone_though_the_clock_was_set_before_anybody_looked() {
    for ahead in [86_400, -86_400] {
        let clock = WallClock::new();
        let (redis, bucket) = filled(&clock, 3).await;
        let replica = join(&bucket, "a").await;
        let (first, second) = (take_one(&replica).await, take_one(&replica).await);
        settle(&replica, first, Settlement::Throttled { wait: Some(ASKED) }).await;
        redis.set_clock(&clock, ahead).await;
        let settled = Instant::now();
        settle(&replica, second, Settlement::Throttled { wait: Some(ASKED) }).await;
        assert!(takes_nothing(&replica).await, "granted with the clock at {ahead} s");
        let left = throttled_for(&redis).await.expect("it is throttled");
        assert!((ASKED - settled.elapsed() - ON_ITS_WAY..=ASKED).contains(&left), "{left:?} at {ahead} s");
    }
}

#[tokio::test]
async fn a_pace_that_was_lost_grants_nothing() {
    let redis = TestRedis::start().await;
    let (bucket, replica) = spent(&redis, "1/h", 20).await;
    lose_the_pace(&redis).await;
    assert!(takes_nothing(&replica).await);
    // Nor is anything granted to a new replica, or to one that joins again.
    lose_the_pace(&redis).await;
    let second = join(&bucket, "second").await;
    assert!(takes_nothing(&second).await);
    lose_the_pace(&redis).await;
    let again = bucket.join(Consumer::new("again"), Duration::from_mins(1), JoinKind::Rejoin).await.unwrap();
    assert!(takes_nothing(&again).await);
}

#[tokio::test]
async fn another_rate_holds_at_once_and_gives_no_second_burst() {
    let redis = TestRedis::start().await;
    let (bucket, replica) = spent(&redis, "1/h", 20).await;
    bucket.apply_overrides(&changed("leak.rate", "2/366d")).await.unwrap();
    assert!(takes_nothing(&replica).await);
    bucket.apply_overrides(&changed("leak.rate", "1000/s")).await.unwrap();
    until("a token", async || !takes_nothing(&replica).await).await;
}
