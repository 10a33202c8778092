//! A private Redis for one test, on a Unix socket in a separate folder, which ends with the test.

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

/// A Redis installation that a service can use.
pub trait RunningRedis {
    /// The `redis.url` to reach it.
    fn url(&self) -> String;

    /// A folder for the files of a test, removed after it.
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

/// Below the range of outgoing connections. Otherwise one of these could occupy the port of a server that is down for a
/// while; a connection to that port could even connect to itself.
const PORTS: Range<u16> = 10_000..30_000;
const BUS_OFFSET: u16 = 10_000;

/// Reserves the ports of this process's tests, so that other test processes don't use them before a server listens.
static RESERVED: Mutex<Vec<UdpSocket>> = Mutex::new(Vec::new());

/// Reserves a free port of 127.0.0.1.
///
/// # Panics
/// When none is found.
pub fn free_port() -> u16 {
    ports().find(|port| reserve(*port)).expect("a free port")
}

/// Reserves a free port of 127.0.0.1 for a node of a Cluster, and that of its bus, which is fixed in Redis 6.2.
///
/// # Panics
/// When none is found.
pub fn free_port_of_a_node() -> u16 {
    let has_bus = |port: &u16| PORTS.contains(&(port + BUS_OFFSET)) && reserve(*port) && reserve(port + BUS_OFFSET);
    ports().find(has_bus).expect("two free ports")
}

fn ports() -> impl Iterator<Item = u16> {
    std::iter::repeat_with(|| fastrand::u16(PORTS)).take(1000)
}

fn reserve(port: u16) -> bool {
    let Ok(socket) = UdpSocket::bind(("127.0.0.1", port)) else { return false };
    let is_free = TcpListener::bind(("127.0.0.1", port)).is_ok();
    if is_free {
        RESERVED.lock().unwrap_or_else(PoisonError::into_inner).push(socket);
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

    /// The number of calls of a command so far, including those in scripts.
    pub async fn calls(&self, command: &str) -> u64 {
        let statistics: String = self.ask("INFO commandstats").await;
        let line = statistics.lines().find_map(|line| line.strip_prefix(&format!("cmdstat_{command}:calls=")));
        line.and_then(|line| line.split(',').next()).map_or(0, |calls| calls.parse().expect("a number"))
    }

    /// Sends a command of the test, given as words, and returns the reply. Tries again if the connection is lost, or
    /// the server is loading its data, as when it becomes a replica.
    ///
    /// # Panics
    /// When Redis returns an error.
    pub async fn ask<T: FromRedisValue>(&self, words: &str) -> T {
        let mut words = words.split(' ');
        let mut command = redis::cmd(words.next().expect("a command"));
        words.for_each(|word| {
            command.arg(word);
        });
        let begun = Instant::now();
        loop {
            let reply = async { self.connect().await?.command(&command).await };
            match reply.await {
                Ok(answer) => return answer,
                Err(error) if is_for_a_while(&error) && begun.elapsed() < PATIENCE => tokio::task::yield_now().await,
                Err(error) => panic!("{error:?}"),
            }
        }
    }

    /// The number of connected replicas.
    pub async fn followers(&self) -> usize {
        self.ask::<String>("INFO replication").await.matches("state=online").count()
    }

    pub async fn is_master(&self) -> bool {
        self.ask::<String>("INFO replication").await.contains("role:master")
    }

    /// Sets the server's clock to this many seconds ahead of the machine's.
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

/// Settings with long timeouts for the test's own commands, as the machine may be slow, or the server be synchronizing.
pub fn patient(address: Address, durability: Durability) -> RedisSettings {
    let (connect_timeout, response_timeout) = (Duration::from_secs(10), Duration::from_secs(10));
    RedisSettings { connect_timeout, response_timeout, ..RedisSettings::new(address, "dripfeed", durability) }
}

fn is_for_a_while(error: &StoreError) -> bool {
    error.kind() == ErrorKind::Unreachable || error.code() == Some("LOADING")
}
