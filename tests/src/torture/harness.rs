//! The processes of a run: a Redis, intakes and processors in slots, a proxy between Redis and each of them, and an
//! upstream.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use dripfeed_store::{AppendFsync, ServerOptions, Store, StoreError};
use redis::{Cmd, FromRedisValue};
use tokio::sync::Mutex;

use super::breakpoint::{Breakpoints, Step};
use super::driver::{Load, all_ready, answered};
use super::jobs::Jobs;
use super::process_slot::{ProcessSlot, Role};
use super::upstream::Target;
use crate::processes::command;
use crate::proxy::{Behind, Proxy};
use crate::redis_server::TestRedis;

/// The bucket of a run.
pub const BUCKET: &str = "b";
/// The lease in rows that don't kill or suspend processors: long enough that none looks dead on a busy machine.
pub const STEADY_LEASE: Duration = Duration::from_secs(10);
/// A second bucket for some rows, without jobs of the run.
pub const BESIDE: &str = "beside";
/// Fair queuing of ten groups, one of them with a rate limit, and one with a weight.
const FAIR: &str = r#"fair.by = "group"
fair.flows.g0 = { rate = "400/s", burst = 20, max_in_flight = 20 }
fair.flows.g1 = { weight = 3 }"#;

#[derive(Clone)]
pub struct Setup {
    pub seed: u64,
    pub load: Load,
    pub intakes: usize,
    pub processors: usize,
    pub lease: Duration,
    pub response_timeout: Duration,
    /// Calls per second, and burst.
    pub rate: u32,
    pub burst: u32,
    pub concurrency: u32,
    pub capacity: u32,
    pub attempts: u32,
    pub deliveries: u32,
    pub server: ServerOptions,
    /// Whether there are also proxies between processors and upstream.
    pub far_proxies: bool,
    /// Whether there is a second bucket.
    pub beside: bool,
    /// Numbers of the jobs of which every call kills the processor.
    pub deadly: BTreeSet<u64>,
    /// Whether the upstream answers every call.
    pub prompt: bool,
    /// Whether the upstream throttles only if a row requests it.
    pub patient: bool,
    /// By which factor a recovery may take longer than promised.
    pub slack: u32,
    /// Maximum time that the bucket is throttled.
    pub max_hold: Duration,
    /// Settings of fair queuing, in TOML.
    pub fair: &'static str,
    /// Whether the bucket is paused until a row resumes it.
    pub paused: bool,
    /// Further settings of the bucket, and further sections, in TOML.
    pub settings: String,
    pub sections: String,
    /// The bug that all processes have, if they were built with planted bugs.
    pub plant: Option<&'static str>,
}

impl Setup {
    pub fn new(seed: u64, load: Load) -> Self {
        Self {
            seed,
            load,
            intakes: 2,
            processors: 3,
            lease: Duration::from_secs(2),
            response_timeout: Duration::from_millis(500),
            rate: 2000,
            burst: 200,
            concurrency: 50,
            capacity: 3000,
            attempts: 5,
            // High, because faults may hit the same job repeatedly. Only the row about poison jobs sets a lower one.
            deliveries: 1000,
            server: ServerOptions::default(),
            far_proxies: false,
            beside: false,
            deadly: BTreeSet::new(),
            prompt: false,
            patient: false,
            slack: 1,
            max_hold: Duration::from_millis(20),
            fair: FAIR,
            paused: false,
            settings: String::new(),
            sections: String::new(),
            plant: None,
        }
    }

    pub const fn jobs(&self) -> Jobs {
        let jobs = Jobs::new(self.seed);
        let jobs = if self.prompt { jobs.answered_promptly() } else { jobs };
        if self.patient { jobs.answered_patiently() } else { jobs }
    }

    /// The shared configuration; each process has separate addresses in addition.
    fn configuration(&self, redis: &str, upstream: &str) -> String {
        let Self { rate, burst, concurrency, capacity, attempts, deliveries, fair, settings, sections, .. } = self;
        let durability = match self.server.append_fsync {
            AppendFsync::Always => "fsync",
            AppendFsync::Everysec => "everysec",
            AppendFsync::No => "process",
        };
        let beside =
            if self.beside { format!("[buckets.{BESIDE}]\nupstream = \"{upstream}\"\n") } else { String::new() };
        let [lease, response, hold] = [self.lease, self.response_timeout, self.max_hold].map(|time| time.as_millis());
        // Idle processors stay members, so that a check can find other members.
        format!(
            r#"
[redis]
url = "{redis}"
durability = "{durability}"
response_timeout = "{response}ms"
[intake]
listen = "127.0.0.1:0"
[processor]
listen = "127.0.0.1:0"
lease = "{lease}ms"
standby_after = "1h"
drain = "10s"
[buckets.{BUCKET}]
upstream = "{upstream}"
headers = {{ Authorization = "Bearer canary-of-the-upstream" }}
signing_secret = "whsec_Y2FuYXJ5IGNhbmFyeSBjYW5hcnkgY2FuYXJ5"
timeout = "2s"
capacity = {capacity}
capacity_bytes = "256MiB"
deliveries = {deliveries}
leak.rate = "{rate}/s"
leak.burst = {burst}
leak.concurrency = {concurrency}
leak.max_hold = "{hold}ms"
leak.default_hold = "20ms"
{fair}
retry = {{ attempts = {attempts}, first = "20ms", max = "500ms" }}
keep.most_outcomes = 10000000
keep.outcomes_bytes = "100GB"
keep.most_dead = 10000000
keep.dead_bytes = "100GB"
keep.most_idempotency_keys = 10000000
{settings}
{beside}
{sections}"#
        )
    }
}

pub struct Harness {
    pub setup: Setup,
    pub redis: Mutex<TestRedis>,
    pub store: Store,
    pub intakes: Vec<ProcessSlot>,
    pub processors: Vec<ProcessSlot>,
    /// The proxies between the processes and Redis, intakes first.
    pub proxies: Vec<Proxy>,
    /// The proxies between processors and upstream, if requested.
    pub far_proxies: Vec<Proxy>,
    /// The breakpoints between the processes and Redis, intakes first.
    pub breakpoints: Vec<Breakpoints>,
    pub upstream: Target,
    configuration: PathBuf,
}

impl Harness {
    pub async fn start(setup: Setup) -> Self {
        let redis = TestRedis::with(setup.server.clone()).await;
        let store = redis.store().await;
        let intakes: Vec<ProcessSlot> = (0..setup.intakes).map(|_| ProcessSlot::empty()).collect();
        let processors: Vec<ProcessSlot> = (0..setup.processors).map(|_| ProcessSlot::empty()).collect();
        let killers = processors.iter().map(ProcessSlot::killer).collect();
        let upstream = Target::start(setup.jobs(), setup.deadly.clone(), killers).await;
        let configuration = redis.folder().join("dripfeed.toml");
        let text = setup.configuration(&redis.server.url(), &format!("http://{}/feed", upstream.addresses[0]));
        fs::write(&configuration, text).expect("a file of settings");

        let (mut proxies, mut far_proxies, mut breakpoints) = (Vec::new(), Vec::new(), Vec::new());
        for (number, slot) in intakes.iter().chain(&processors).enumerate() {
            let own = Breakpoints::new(slot.killer());
            let socket = redis.folder().join("redis.sock");
            let proxy = Proxy::before(Behind::Redis { socket, breakpoints: own.clone() }).await;
            let mut settings = vec![format!("redis.url=redis://{}", proxy.address)];
            let role = if number < setup.intakes { "intake" } else { "processor" };
            if let Some(processor) = number.checked_sub(setup.intakes) {
                let mut address = upstream.addresses[processor];
                if setup.far_proxies {
                    let far = Proxy::before(Behind::Tcp(address)).await;
                    address = far.address;
                    far_proxies.push(far);
                }
                settings.push(format!("buckets.{BUCKET}.upstream=http://{address}/feed"));
            }
            let plant = setup.plant;
            slot.run(Role {
                name: format!("{role} {number}"),
                configuration: configuration.clone(),
                role,
                settings,
                plant,
            });
            proxies.push(proxy);
            breakpoints.push(own);
        }
        let harness = Self {
            setup,
            redis: Mutex::new(redis),
            store,
            intakes,
            processors,
            proxies,
            far_proxies,
            breakpoints,
            upstream,
            configuration,
        };
        all_ready(&harness.intakes).await;
        all_ready(&harness.processors).await;
        harness
    }

    pub fn slots(&self) -> impl Iterator<Item = &ProcessSlot> {
        self.intakes.iter().chain(&self.processors)
    }

    /// The breakpoints between a processor and Redis or, for steps of a call, the upstream.
    pub fn breakpoints_of_processor(&self, processor: usize, step: Step) -> &Breakpoints {
        match step {
            Step::Before(_) | Step::After(_) => &self.breakpoints[self.setup.intakes + processor],
            Step::BeforeSend | Step::AfterSend | Step::MidAnswer => &self.upstream.breakpoints[processor],
        }
    }

    /// A key of the bucket.
    pub fn key(name: &str) -> String {
        format!("dripfeed:{{{BUCKET}}}:{name}")
    }

    /// Sends a command over a connection without faults, and returns the reply.
    pub async fn ask<T: FromRedisValue>(&self, words: &[&str]) -> T {
        self.try_to_ask(words).await.unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// As `ask`, for commands that Redis may refuse.
    pub async fn try_to_ask<T: FromRedisValue>(&self, words: &[&str]) -> Result<T, StoreError> {
        let mut command = Cmd::new();
        command.arg(words);
        self.store.command(&command).await
    }

    /// Pauses or resumes the bucket, with an intake that isn't killed meanwhile.
    pub async fn operate(&self, what: &str) {
        let client = self.intakes[0].client().expect("it is ready");
        let path = format!("/v1/buckets/{BUCKET}/{what}");
        let answer = answered(|| client.post(&path, "")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    pub async fn level(&self) -> u64 {
        self.ask(&["XLEN", &Self::key("jobs")]).await
    }

    /// The findings of the doctor; empty without problems.
    pub async fn doctor(&self) -> String {
        let mut doctor = command(["-c"]);
        doctor.arg(&self.configuration).args(["doctor", BUCKET]);
        let output = doctor.output().await.expect("the executable");
        if output.status.success() { String::new() } else { String::from_utf8_lossy(&output.stdout).into_owned() }
    }
}

/// Ends all processes. A slot restarts its process until it is emptied, and a process that outlives its harness could
/// connect to another run, which has reused the port of its proxy.
impl Drop for Harness {
    fn drop(&mut self) {
        self.slots().for_each(ProcessSlot::empty_out);
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpStream;

    use super::*;

    #[tokio::test]
    async fn no_process_outlives_its_harness() {
        let load = Load { jobs: 0, per_second: 1 };
        let harness = Harness::start(Setup::new(1, load)).await;
        let addresses: Vec<_> = harness.slots().filter_map(|slot| *slot.address().borrow()).collect();
        assert_eq!(addresses.len(), 5);
        drop(harness);
        let all_gone = async {
            for address in addresses {
                while TcpStream::connect(address).await.is_ok() {
                    tokio::task::yield_now().await;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(30), all_gone).await.expect("its processes end");
    }
}
