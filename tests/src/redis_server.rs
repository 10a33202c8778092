//! A private Redis for one test: on a unix socket, in its own folder, gone with the test.

use std::net::{TcpListener, UdpSocket};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use dripfeed_store::{Address, Durability, ErrorKind, PrivateServer, RedisSettings, ServerOptions, Store, StoreError};
use redis::FromRedisValue;
use tempfile::TempDir;

use crate::service::PATIENCE;
use crate::wall_clock::WallClock;

/// What a service can run over.
pub trait RunningRedis {
    /// The `redis.url` to reach it.
    fn url(&self) -> String;

    /// Where a test may put its files; gone with the test.
    fn folder(&self) -> &Path;
}

impl RunningRedis for TestRedis {
    fn url(&self) -> String {
        self.server.url()
    }

    fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// Below those that the system gives to outgoing connections. Else one of these could take the port of a server that is
/// down for a while; even one to that very port, which then meets itself.
const PORTS: Range<u16> = 10_000..30_000;
const TO_THE_BUS: u16 = 10_000;

/// Of the ports that this process has given to its tests: no other process of tests gives them to its own meanwhile. A
/// server may need a while until it listens.
static GIVEN: Mutex<Vec<UdpSocket>> = Mutex::new(Vec::new());

/// A port of 127.0.0.1 that was free a moment ago.
///
/// # Panics
/// When none is found.
pub fn free_port() -> u16 {
    ports().find(|port| is_given(*port)).expect("a free port")
}

/// A port of 127.0.0.1 for a node of a Cluster: its bus has that of this many more, which Redis 6.2 can't be set.
///
/// # Panics
/// When none is found.
pub fn free_port_of_a_node() -> u16 {
    let has_bus = |port: &u16| PORTS.contains(&(port + TO_THE_BUS)) && is_given(*port) && is_given(port + TO_THE_BUS);
    ports().find(has_bus).expect("two free ports")
}

fn ports() -> impl Iterator<Item = u16> {
    std::iter::repeat_with(|| fastrand::u16(PORTS)).take(1000)
}

fn is_given(port: u16) -> bool {
    let Ok(given) = UdpSocket::bind(("127.0.0.1", port)) else { return false };
    let is_free = TcpListener::bind(("127.0.0.1", port)).is_ok();
    if is_free {
        GIVEN.lock().unwrap_or_else(PoisonError::into_inner).push(given);
    }
    is_free
}

pub struct TestRedis {
    pub server: PrivateServer,
    folder: TempDir,
}

impl TestRedis {
    pub async fn start() -> Self {
        Self::with(ServerOptions::default()).await
    }

    pub async fn with(options: ServerOptions) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let server = PrivateServer::start(folder.path(), options).await.expect("a private redis-server");
        Self { server, folder }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// How often a command has been called so far, in scripts too.
    pub async fn calls(&self, command: &str) -> u64 {
        let statistics: String = self.ask("INFO commandstats").await;
        let line = statistics.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
        line.and_then(|line| line.split(',').next()).map_or(0, |calls| calls.parse().expect("a number"))
    }

    /// The answer to a command that only a test gives it, as words; given again when the connection is lost or the
    /// server loads its data, as it does when it becomes a replica.
    ///
    /// # Panics
    /// When it refuses.
    pub async fn ask<T: FromRedisValue>(&self, words: &str) -> T {
        let mut words = words.split(' ');
        let mut command = redis::cmd(words.next().expect("a command"));
        words.for_each(|word| {
            command.arg(word);
        });
        let begun = Instant::now();
        loop {
            let told = async { self.connect().await?.command(&command).await };
            match told.await {
                Ok(answer) => return answer,
                Err(error) if is_for_a_while(&error) && begun.elapsed() < PATIENCE => tokio::task::yield_now().await,
                Err(error) => panic!("{error:?}"),
            }
        }
    }

    /// Replicas that follow it now.
    pub async fn followers(&self) -> usize {
        self.ask::<String>("INFO replication").await.matches("state=online").count()
    }

    pub async fn is_master(&self) -> bool {
        self.ask::<String>("INFO replication").await.contains("role:master")
    }

    /// Sets the clock that it goes by to this many seconds ahead of the machine's.
    pub async fn set_clock(&self, clock: &WallClock, seconds: i64) {
        clock.set_for(&self.store().await, seconds).await;
    }

    pub async fn store(&self) -> Store {
        self.connect().await.expect("the private redis-server answers")
    }

    async fn connect(&self) -> Result<Store, StoreError> {
        Store::connect(&patient(self.server.address().clone(), Durability::Everysec)).await
    }
}

/// For what a test itself asks: a slow machine, or a server that has just begun to follow another one, takes its time.
pub fn patient(address: Address, durability: Durability) -> RedisSettings {
    let (connect_timeout, response_timeout) = (Duration::from_secs(10), Duration::from_secs(10));
    RedisSettings { connect_timeout, response_timeout, ..RedisSettings::new(address, "dripfeed", durability) }
}

fn is_for_a_while(error: &StoreError) -> bool {
    error.kind() == ErrorKind::Unreachable || error.code() == Some("LOADING")
}
