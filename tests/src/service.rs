//! dripfeed as real processes: a private Redis, and as many intakes and processors as a test needs.

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

/// Timeout for events that must happen; far longer than promised, so that tests don't depend on the machine's speed.
pub const PATIENCE: Duration = Duration::from_secs(90);

/// The settings that tests share; `{redis}` is replaced by the address of their Redis. Timeouts of Redis and heartbeats
/// are longer than stalls of a busy machine, except in tests about them.
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

/// The same timeouts for configuration files that a test writes; to be placed before the first section.
pub const TIMEOUTS: &str = "redis.connect_timeout = \"2s\"\nredis.response_timeout = \"2s\"\n";

pub struct Service<R = TestRedis> {
    pub redis: R,
    store: Store,
    durability: Durability,
    configuration: PathBuf,
    started: AtomicUsize,
    /// Limits the number of services, which are several processes under load. `None` for a service beside another one,
    /// whose place counts for both.
    _machine: Option<Machine>,
}

/// The counts of a bucket.
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
    /// `buckets` are the TOML sections of the buckets.
    pub async fn new(buckets: &str) -> Self {
        Self::over(TestRedis::start().await, Durability::Everysec, buckets).await
    }

    /// Another service with another Redis, but without another place: waiting for a second place would deadlock with a
    /// test that waits to be alone.
    pub async fn beside(&self, buckets: &str) -> Self {
        Self::on(None, TestRedis::start().await, Durability::Everysec, buckets).await
    }
}

impl<R: RunningRedis> Service<R> {
    /// A service with any Redis and durability.
    pub async fn over(redis: R, durability: Durability, buckets: &str) -> Self {
        Self::on(Some(machine::place().await), redis, durability, buckets).await
    }

    /// As `over`, but alone on the machine, for tests that measure time.
    pub async fn alone(redis: R, durability: Durability, buckets: &str) -> Self {
        Self::on(Some(machine::alone().await), redis, durability, buckets).await
    }

    /// As `over`, but only beside other quiet services, for tests that measure time and need little CPU.
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

    /// Replaces the buckets in the configuration, for processes that start, or reload their settings, after that.
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

    /// `settings` are values of `--set`.
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

    /// Runs a command to its end. Returns its exit code and output.
    pub async fn run(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let mut command = self.command(&[]);
        let output = command.args(arguments).output().await.expect("the executable");
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    }

    /// As [`buckets::silence`].
    pub async fn silence(&self, place: &str) {
        buckets::silence(&self.store, place).await;
    }

    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// Sends a command, given as words, and returns the reply.
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
        // Four members: count, first, last, consumers. Before the first replica there is no group, so nothing is
        // pending.
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

    /// Waits until the bucket is empty.
    pub async fn drained(&self, bucket: &str) {
        let begun = Instant::now();
        while self.level(bucket).await > 0 {
            assert!(begun.elapsed() < PATIENCE, "the bucket doesn't drain: {:?}", self.counts(bucket).await);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// Waits until `happened` returns true.
pub async fn until<F: Future<Output = bool>>(what: &str, happened: impl Fn() -> F) {
    let begun = Instant::now();
    while !happened().await {
        assert!(begun.elapsed() < PATIENCE, "it didn't happen within {PATIENCE:?}: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
