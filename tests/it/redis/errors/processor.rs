use std::time::{Duration, Instant};

use dripfeed_bucket::{Bucket, BucketSettings};
use dripfeed_tests::buckets;
use dripfeed_tests::door::{Door, Misdeed};
use dripfeed_tests::processes::Process;
use dripfeed_tests::service::{PATIENCE, Service, until};
use dripfeed_tests::upstream::Upstream;

use super::{misdeeds, most_lines};

pub const SCRIPTS: [&str; 7] = ["beat", "join", "recover", "retention", "settle", "orphaned_claims", "take"];

/// And the command that waits for new jobs.
const DOORBELL: &str = "XREAD";

struct Stage {
    service: Service,
    door: Door,
    upstream: Upstream,
    processor: Process,
    bucket: Bucket,
    submitted: usize,
}

impl Stage {
    async fn set() -> Self {
        let upstream = Upstream::willing().await;
        let service = Service::new(&format!("[buckets.b]\nupstream = \"{}\"", upstream.url())).await;
        let door = Door::before(&service.redis).await;
        let url = format!("redis.url={}", door.url());
        let fast = [url.as_str(), "redis.response_timeout=300ms", "processor.lease=1s"];
        let processor = service.role("processor", &fast).await;
        let roomy = BucketSettings { capacity: 100_000, ..buckets::settings("b") };
        let bucket = buckets::open(&service.redis, roomy).await;
        Self { service, door, upstream, processor, bucket, submitted: 0 }
    }

    /// By its own way to Redis.
    async fn submit(&mut self) {
        buckets::submit(&self.bucket, buckets::job("{}")).await;
        self.submitted += 1;
    }

    /// Does what makes the processor call that script or command.
    async fn bring_about(&mut self, name: &str) {
        match name {
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
                self.door.plan("take", Misdeed::Close, 1);
                self.submit().await;
            }
            "take" | "settle" => self.submit().await,
            // By itself.
            "beat" | "retention" | DOORBELL => {}
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
    let mut stage = Stage::set().await;
    stage.all_done().await;
    let begun = Instant::now();
    for name in SCRIPTS.into_iter().chain([DOORBELL]) {
        // So that its name is known at the door.
        if stage.door.calls(name) == 0 {
            stage.bring_about(name).await;
            until(name, async || stage.door.calls(name) > 0).await;
        }
        for misdeed in misdeeds() {
            let (calls, asked) = (stage.door.calls(name), Instant::now());
            stage.door.plan(name, misdeed, 1);
            stage.bring_about(name).await;
            stage.door.done(name).await;
            stage.all_done().await;
            assert!(asked.elapsed() < Duration::from_secs(10), "{name} {misdeed:?}: it took {:?}", asked.elapsed());
            let calls = stage.door.calls(name) - calls;
            let most = 50 * (asked.elapsed().as_secs() + 1);
            assert!(calls <= most, "{name} {misdeed:?}: {calls} calls in {:?}", asked.elapsed());
        }
    }
    let counts = stage.service.counts("b").await;
    assert_eq!(counts.delivered, stage.submitted as u64, "{counts:?}");
    let again: Vec<_> = stage.upstream.calls_by_job().into_iter().filter(|(_, calls)| *calls != 1).collect();
    assert!(again.is_empty(), "called more than once: {again:?}");
    assert!(stage.upstream.calls().iter().all(|call| call.attempt == 1), "an attempt was counted");
    until("the ghost is gone", async || {
        let consumers: String =
            format!("{:?}", stage.service.redis::<redis::Value>("XINFO CONSUMERS dripfeed:{b}:jobs processors").await);
        !consumers.contains("ghost")
    })
    .await;
    tells_little(&stage.processor, 0, begun);
}

fn tells_little(process: &Process, lines_before: usize, begun: Instant) {
    let log = process.log();
    assert!(!log.contains("panicked"), "{log}");
    let lines = log.lines().count() - lines_before;
    assert!(lines <= most_lines(begun.elapsed().as_secs()), "{lines} lines in {:?}:\n{log}", begun.elapsed());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_error_that_stays_makes_no_storm() {
    let mut stage = Stage::set().await;
    stage.all_done().await;
    for name in SCRIPTS.into_iter().chain([DOORBELL]) {
        for misdeed in [Misdeed::Error("ERR something that no version said before"), Misdeed::Drop] {
            let (calls, lines) = (stage.door.all_calls(), stage.processor.log().lines().count());
            let begun = Instant::now();
            stage.door.plan(name, misdeed, u64::MAX);
            stage.bring_about(name).await;
            stage.submit().await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            let (calls, took) = (stage.door.all_calls() - calls, begun.elapsed());
            assert!(calls <= 100 * (took.as_secs() + 1), "{name} {misdeed:?}: {calls} calls in {took:?}");
            tells_little(&stage.processor, lines, begun);
            stage.door.behave(name);
            let back = Instant::now();
            stage.all_done().await;
            assert!(back.elapsed() < PATIENCE / 9, "{name} {misdeed:?}: it took {:?}", back.elapsed());
        }
    }
    let again: Vec<_> = stage.upstream.calls_by_job().into_iter().filter(|(_, calls)| *calls != 1).collect();
    assert!(again.is_empty(), "called more than once: {again:?}");
}
