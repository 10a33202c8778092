//! dripfeed as it runs for real: a private Redis, and as many intakes and processors as a test wants.

use std::fs;
use std::path::PathBuf;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use dripfeed_store::{Durability, Store};
use redis::FromRedisValue;
use tokio::process::Command;

use crate::buckets;
use crate::machine::{self, Machine};
use crate::processes::{Process, command};
use crate::redis_server::{RunningRedis, TestRedis, patient};

/// A test's time for what must happen at last: far more than the promise says, so that a slow machine changes nothing.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// The settings that tests share; `{redis}` stands for the address of theirs. Calls of Redis and heartbeats have more
/// time than a busy machine stands still for: what becomes of those that are late is for tests that say so.
const BASIS: &str = r#"
[redis]
url = "{redis}"
durability = "{durability}"
connect_timeout = "2s"
response_timeout = "2s"
[intake]
listen = "127.0.0.1:0"
[processor]
listen = "127.0.0.1:0"
lease = "6s"
drain = "10s"
"#;

/// The same time, for files of settings that a test writes itself: before the first section.
pub const TIMEOUTS: &str = "redis.connect_timeout = \"2s\"\nredis.response_timeout = \"2s\"\n";

pub struct Service<R = TestRedis> {
    pub redis: R,
    store: Store,
    durability: Durability,
    configuration: PathBuf,
    started: AtomicUsize,
    /// Several processes under load, and the machine may have two cores. None: another one's place serves for both.
    _machine: Option<Machine>,
}

/// What is in a bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub level: u64,
    pub in_flight: u64,
    pub parked: u64,
    pub dead: u64,
    pub accepted: u64,
    pub delivered: u64,
}

impl Service {
    /// `buckets` are their sections, in TOML.
    pub async fn new(buckets: &str) -> Self {
        Self::over(TestRedis::start().await, Durability::Everysec, buckets).await
    }

    /// Another one, over another Redis, in the same place: who waits for a second place while somebody waits to be
    /// alone waits for ever.
    pub async fn beside(&self, buckets: &str) -> Self {
        Self::on(None, TestRedis::start().await, Durability::Everysec, buckets).await
    }
}

impl<R: RunningRedis> Service<R> {
    /// Over a Redis of any kind, with accepted jobs kept by `durability`.
    pub async fn over(redis: R, durability: Durability, buckets: &str) -> Self {
        Self::on(Some(machine::place().await), redis, durability, buckets).await
    }

    /// The same, with nothing beside it: for what is measured by time.
    pub async fn alone(redis: R, durability: Durability, buckets: &str) -> Self {
        Self::on(Some(machine::alone().await), redis, durability, buckets).await
    }

    /// Beside others of this kind alone: for what is measured by time, and loads the machine little.
    pub async fn quiet(redis: R, durability: Durability, buckets: &str) -> Self {
        Self::on(Some(machine::quiet().await), redis, durability, buckets).await
    }

    async fn on(machine: Option<Machine>, redis: R, durability: Durability, buckets: &str) -> Self {
        let address = redis.url().parse().expect("an address");
        let store = Store::connect(&patient(address, Durability::Everysec)).await.expect("Redis answers");
        let configuration = redis.folder().join("dripfeed.toml");
        let service = Self { redis, store, durability, configuration, started: AtomicUsize::new(0), _machine: machine };
        service.configure(buckets);
        service
    }

    /// Other buckets from now on: for processes that start then, or are asked to read their settings again.
    pub fn configure(&self, buckets: &str) {
        let basis = BASIS.replace("{redis}", &self.redis.url()).replace("{durability}", &self.durability.to_string());
        fs::write(&self.configuration, basis + buckets).expect("a file of settings");
    }

    pub async fn intake(&self) -> Process {
        self.role("intake", &[]).await
    }

    pub async fn processor(&self) -> Process {
        self.role("processor", &[]).await
    }

    /// `settings` as after `--set`.
    pub async fn role(&self, role: &str, settings: &[&str]) -> Process {
        let mut command = self.command(settings);
        command.arg(role);
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        Process::start(&format!("{role} {number}"), command).await
    }

    /// The executable with this service's configuration.
    pub fn command(&self, settings: &[&str]) -> Command {
        let mut command = command(["-c"]);
        command.arg(&self.configuration);
        for setting in settings {
            command.args(["--set", setting]);
        }
        command
    }

    /// Runs it to its end: its exit code, and all that it said.
    pub async fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = self.command(&[]);
        let ended = command.args(arguments).output().await.expect("the executable");
        (ended.status.code(), String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned())
    }

    /// As [`buckets::silence`].
    pub async fn silence(&self, place: &str) {
        buckets::silence(&self.store, place).await;
    }

    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// The answer to a command, given as words.
    pub async fn redis<T: FromRedisValue>(&self, words: &str) -> T {
        let mut words = words.split(' ');
        let mut command = redis::cmd(words.next().expect("a command"));
        words.for_each(|word| {
            command.arg(word);
        });
        self.store.command(&command).await.expect("Redis answers")
    }

    pub async fn level(&self, bucket: &str) -> u64 {
        self.redis(&format!("XLEN dripfeed:{{{bucket}}}:jobs")).await
    }

    pub async fn counts(&self, bucket: &str) -> Counts {
        let tally: std::collections::HashMap<String, u64> =
            self.redis(&format!("HGETALL dripfeed:{{{bucket}}}:tally")).await;
        let total = |name: &str| tally.get(name).copied().unwrap_or(0);
        let level = self.level(bucket).await;
        let parked: u64 = self.redis(&format!("ZCARD dripfeed:{{{bucket}}}:parked")).await;
        let mut pending = redis::cmd("XPENDING");
        pending.arg(format!("dripfeed:{{{bucket}}}:jobs")).arg("processors");
        // Four members: how many, from, to, by whom. Without a group, which the first replica makes, none is pending.
        let pending: Result<(u64, redis::Value, redis::Value, redis::Value), _> = self.store.command(&pending).await;
        let pending = match pending {
            Ok((pending, ..)) => pending,
            Err(error) if error.code() == Some("NOGROUP") => 0,
            Err(error) => panic!("{error}"),
        };
        Counts {
            level,
            in_flight: pending.saturating_sub(parked),
            parked,
            dead: total("dead"),
            accepted: total("accepted"),
            delivered: total("delivered"),
        }
    }

    /// Returns when nothing is left in the bucket.
    pub async fn drained(&self, bucket: &str) {
        let begun = Instant::now();
        while self.level(bucket).await > 0 {
            assert!(begun.elapsed() < PATIENCE, "the bucket doesn't drain: {:?}", self.counts(bucket).await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Returns when `happened` says so.
pub async fn until<F: Future<Output = bool>>(what: &str, happened: impl Fn() -> F) {
    let begun = Instant::now();
    while !happened().await {
        assert!(begun.elapsed() < PATIENCE, "it didn't happen within {PATIENCE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
