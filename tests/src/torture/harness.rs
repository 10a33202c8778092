//! What a run happens on: its own Redis, intakes and processors in their slots, a proxy before Redis for each of them,
//! and an upstream.

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
/// The lease where nobody kills or stops a processor: long enough that a busy machine lets none look dead.
pub const STEADY_LEASE: Duration = Duration::from_secs(10);
/// Another one, where a row wants it: nothing of the run is in it.
pub const BESIDE: &str = "beside";
/// Ten groups take turns, one of them with its own pace and one with a weight.
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
    /// Calls per second, and those that may come at once.
    pub rate: u32,
    pub burst: u32,
    pub concurrency: u32,
    pub capacity: u32,
    pub attempts: u32,
    pub deliveries: u32,
    pub server: ServerOptions,
    /// Whether there is a proxy between processors and upstream too.
    pub far_proxies: bool,
    /// Whether there is a bucket beside.
    pub beside: bool,
    /// Numbers of jobs whose every call kills the caller.
    pub deadly: BTreeSet<u64>,
    /// The upstream answers every call.
    pub prompt: bool,
    /// The upstream throttles nobody unless a row has it do so.
    pub patient: bool,
    /// How many times as long as promised a recovery may take.
    pub slack: u32,
    /// Maximum time that the bucket is throttled.
    pub max_hold: Duration,
    /// Whose turn it is, in TOML.
    pub fair: &'static str,
    /// Whether nothing is called until a row resumes the bucket.
    pub paused: bool,
    /// Further settings of the bucket, and further sections, in TOML.
    pub settings: String,
    pub sections: String,
    /// The bug to be in all processes, where they were built with bugs.
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
            // The same job may be hit repeatedly: only the row about poison wants it buried for that.
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

    /// Each process is given its own addresses besides.
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
        // At rest all processors are still members, so that it can be seen that nobody else is.
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
    /// Between the processes and Redis, intakes first.
    pub proxies: Vec<Proxy>,
    /// Between processors and upstream, when asked for.
    pub far_proxies: Vec<Proxy>,
    /// Of the processes before Redis, intakes first.
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

    /// The breakpoints on a processor's way to Redis, or, for steps of a call, to the upstream.
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

    /// The answer to a command, by a connection that no fault is done to.
    pub async fn ask<T: FromRedisValue>(&self, words: &[&str]) -> T {
        self.try_to_ask(words).await.unwrap_or_else(|error| panic!("{words:?}: {error}"))
    }

    /// The same, where Redis may refuse it.
    pub async fn try_to_ask<T: FromRedisValue>(&self, words: &[&str]) -> Result<T, StoreError> {
        let mut command = Cmd::new();
        command.arg(words);
        self.store.command(&command).await
    }

    /// Pauses or resumes the bucket, by an intake that nobody kills meanwhile.
    pub async fn operate(&self, what: &str) {
        let client = self.intakes[0].client().expect("it is ready");
        let path = format!("/v1/buckets/{BUCKET}/{what}");
        let answer = answered(|| client.post(&path, "")).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }

    pub async fn level(&self) -> u64 {
        self.ask(&["XLEN", &Self::key("jobs")]).await
    }

    /// What the doctor finds wrong: nothing, when all is well.
    pub async fn doctor(&self) -> String {
        let mut doctor = command(["-c"]);
        doctor.arg(&self.configuration).args(["doctor", BUCKET]);
        let ended = doctor.output().await.expect("the executable");
        if ended.status.success() { String::new() } else { String::from_utf8_lossy(&ended.stdout).into_owned() }
    }
}

/// Its processes end with it. A slot keeps its process running for as long as nobody empties it, and one that outlives
/// its harness reconnects to the port of a proxy that is gone: to another run, when that was given the port.
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
