use std::time::{Duration, Instant};

use dripfeed_bucket::{Bucket, BucketSettings};
use dripfeed_tests::buckets;
use dripfeed_tests::processes::Process;
use dripfeed_tests::redis_fault_proxy::{ProxyFault, RedisFaultProxy};
use dripfeed_tests::service::{Service, until};
use dripfeed_tests::upstream::Upstream;

use super::{faults, most_lines};

/// What becomes of a job.
const OF_JOBS: [&str; 5] = ["expire", "orphaned_claims", "sample", "settle", "take"];
/// What makes the processor a replica.
const OF_REPLICAS: [&str; 3] = ["beat", "join", "recover"];
/// What it does from time to time.
const IN_THE_BACKGROUND: [&str; 2] = ["retention", "sweeper"];
/// The one of a replica that has nothing to do.
const STANDBY: &str = "standby";
/// And the command that listens for new jobs.
const LISTENING: &str = "SUBSCRIBE";

/// All of them.
pub fn scripts() -> impl Iterator<Item = &'static str> {
    OF_JOBS.into_iter().chain(OF_REPLICAS).chain(IN_THE_BACKGROUND).chain([STANDBY])
}

struct Harness {
    service: Service,
    proxy: RedisFaultProxy,
    upstream: Upstream,
    processor: Process,
    bucket: Bucket,
    submitted: usize,
}

impl Harness {
    async fn start() -> Self {
        Self::start_with("processor.standby_after=1m").await
    }

    async fn start_with(standby: &str) -> Self {
        let upstream = Upstream::willing().await;
        let service = Service::new(&format!("[buckets.b]\nupstream = \"{}\"", upstream.url())).await;
        let proxy = RedisFaultProxy::before(&service.redis).await;
        let url = format!("redis.url={}", proxy.url());
        let fast = [url.as_str(), "redis.response_timeout=300ms", "processor.lease=1s", standby];
        let processor = service.role("processor", &fast).await;
        let roomy = BucketSettings { capacity: 100_000, ..buckets::settings("b") };
        let bucket = buckets::open(&service.redis, roomy).await;
        Self { service, proxy, upstream, processor, bucket, submitted: 0 }
    }

    /// By its own way to Redis.
    async fn submit(&mut self) {
        buckets::submit(&self.bucket, buckets::job("{}")).await;
        self.submitted += 1;
    }

    /// Does what makes the processor call that script or command.
    async fn bring_about(&mut self, name: &str) {
        match name {
            // As if the deadline of a job had passed. An earlier look forgets it at its end.
            "expire" => {
                let before = self.proxy.calls("expire");
                until("it is looked for", async || {
                    let _: u64 = self.service.redis("HSET dripfeed:{b}:tally deadline 1").await;
                    self.proxy.calls("expire") > before
                })
                .await;
            }
            // A replica that finds itself gone joins again.
            "join" => {
                let _: u64 = self.service.redis("DEL dripfeed:{b}:replicas").await;
            }
            // A consumer that is no member is as good as a dead replica.
            "recover" => {
                let _: u64 = self.service.redis("XGROUP CREATECONSUMER dripfeed:{b}:jobs processors ghost").await;
            }
            // What a lost answer had taken is asked for first of all.
            "orphaned_claims" => {
                self.proxy.plan("take", ProxyFault::Close, 1);
                self.submit().await;
            }
            "take" | "settle" | "sample" => self.submit().await,
            // Without help.
            "beat" | "retention" | "sweeper" => {}
            // Whose connection is lost listens again.
            LISTENING => {
                let _: u64 = self.service.redis("CLIENT KILL TYPE pubsub").await;
            }
            other => panic!("nothing is known to call {other}"),
        }
    }

    /// Returns when every job has had its one call, and has ended.
    async fn all_done(&mut self) {
        self.submit().await;
        self.upstream.has_got(self.submitted).await;
        self.service.drained("b").await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_job_is_called_once_whatever_redis_answers() {
    every_job_is_called_once(&OF_JOBS).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_job_is_called_once_whatever_redis_answers_its_replica() {
    every_job_is_called_once(&[&OF_REPLICAS[..], &[LISTENING]].concat()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_job_is_called_once_whatever_redis_answers_in_the_background() {
    every_job_is_called_once(&IN_THE_BACKGROUND).await;
}

/// While each of these scripts and commands gets each answer, once.
async fn every_job_is_called_once(names: &[&'static str]) {
    let mut harness = Harness::start().await;
    harness.all_done().await;
    let begun = Instant::now();
    for &name in names {
        // So that its name is known at the proxy.
        if harness.proxy.calls(name) == 0 {
            harness.bring_about(name).await;
            until(name, async || harness.proxy.calls(name) > 0).await;
        }
        for fault in faults() {
            let (calls, asked) = (harness.proxy.calls(name), Instant::now());
            harness.proxy.plan(name, fault, 1);
            harness.bring_about(name).await;
            harness.proxy.done(name).await;
            harness.all_done().await;
            let calls = harness.proxy.calls(name) - calls;
            let most = 50 * (asked.elapsed().as_secs() + 1);
            assert!(calls <= most, "{name} {fault:?}: {calls} calls in {:?}", asked.elapsed());
        }
    }
    let counts = harness.service.counts("b").await;
    assert_eq!(counts.delivered, harness.submitted as u64, "{counts:?}");
    let again: Vec<_> = harness.upstream.calls_by_job().into_iter().filter(|(_, calls)| *calls != 1).collect();
    assert!(again.is_empty(), "called more than once: {again:?}");
    assert!(harness.upstream.calls().iter().all(|call| call.attempt == 1), "an attempt was counted");
    until("the ghost is gone", async || {
        let consumers: String = format!(
            "{:?}",
            harness.service.redis::<redis::Value>("XINFO CONSUMERS dripfeed:{b}:jobs processors").await
        );
        !consumers.contains("ghost")
    })
    .await;
    tells_little(&harness.processor, 0, begun);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_that_cant_be_settled_holds_up_no_other_when_a_reply_was_lost_before() {
    let mut harness = Harness::start().await;
    harness.all_done().await;
    // No letter can be written of an entry that can't be read.
    let () = harness.service.redis("SET dripfeed:{b}:dead none").await;
    harness.proxy.plan("settle", ProxyFault::Drop, 1);
    let entry: String = harness.service.redis("XADD dripfeed:{b}:jobs * not a-job").await;
    harness.proxy.done("settle").await;
    harness.submit().await;
    let submitted = harness.submitted as u64;
    until("the other is settled", async || harness.service.counts("b").await.delivered == submitted).await;

    // What was carried out before such refusals isn't done again.
    harness.proxy.plan("settle", ProxyFault::Close, 1);
    harness.submit().await;
    harness.proxy.done("settle").await;
    harness.proxy.plan("settle", ProxyFault::Error("ERR something that no version said before"), 8);
    harness.proxy.done("settle").await;

    let _: u64 = harness.service.redis("DEL dripfeed:{b}:dead").await;
    harness.all_done().await;
    let counts = harness.service.counts("b").await;
    assert_eq!((counts.delivered, counts.dead), (harness.submitted as u64, 1), "{entry}: {counts:?}");
}

/// Whatever is answered to one that leaves, or is on standby, or joins again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_comes_back_from_standby_whatever_redis_answers() {
    let mut harness = Harness::start_with("processor.standby_after=100ms").await;
    let begun = Instant::now();
    for fault in faults() {
        for name in [STANDBY, "recover", "join"] {
            harness.proxy.plan(name, fault, 1);
        }
        // It joins for this one, if it has left, and leaves when it has none any more.
        harness.all_done().await;
        for name in ["recover", STANDBY] {
            harness.proxy.done(name).await;
        }
        harness.all_done().await;
        harness.proxy.done("join").await;
    }
    let again: Vec<_> = harness.upstream.calls_by_job().into_iter().filter(|(_, calls)| *calls != 1).collect();
    assert!(again.is_empty(), "called more than once: {again:?}");
    tells_little(&harness.processor, 0, begun);
}

fn tells_little(process: &Process, lines_before: usize, begun: Instant) {
    let log = process.log();
    assert!(!log.contains("panicked"), "{log}");
    let lines = log.lines().count() - lines_before;
    assert!(lines <= most_lines(begun.elapsed().as_secs()), "{lines} lines in {:?}:\n{log}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_that_stays_makes_no_storm() {
    let mut harness = Harness::start().await;
    harness.all_done().await;
    for name in scripts().filter(|name| *name != STANDBY).chain([LISTENING]) {
        for fault in [ProxyFault::Error("ERR something that no version said before"), ProxyFault::Drop] {
            let (calls, lines) = (harness.proxy.all_calls(), harness.processor.log().lines().count());
            let begun = Instant::now();
            harness.proxy.plan(name, fault, u64::MAX);
            harness.bring_about(name).await;
            harness.submit().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            let (calls, took) = (harness.proxy.all_calls() - calls, begun.elapsed());
            assert!(calls <= 100 * (took.as_secs() + 1), "{name} {fault:?}: {calls} calls in {took:?}");
            tells_little(&harness.processor, lines, begun);
            harness.proxy.behave(name);
            harness.all_done().await;
        }
    }
    let again: Vec<_> = harness.upstream.calls_by_job().into_iter().filter(|(_, calls)| *calls != 1).collect();
    assert!(again.is_empty(), "called more than once: {again:?}");
}
