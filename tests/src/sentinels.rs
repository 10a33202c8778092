//! A master, its replicas and Sentinels for one test, on ports of 127.0.0.1, which end with the test.

use std::collections::HashMap;
use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::{Duration, Instant};

use dripfeed_store::{Durability, ServerOptions, Store};
use redis::cmd;
use tempfile::TempDir;
use tokio::process::{Child, Command};

use crate::proxy::{Behind, Proxy};
use crate::redis_server::{RunningRedis, TestRedis, free_port, patient};
use crate::service::{PATIENCE, until};

const SENTINELS: usize = 3;
/// The name of the master.
const NAME: &str = "drip";

pub struct Sentinels {
    servers: Vec<Server>,
    watchers: Vec<Watcher>,
}

struct Server {
    redis: TestRedis,
    /// The port at which others reach it.
    port: u16,
    /// The proxy in front of it, also for replicas and Sentinels.
    proxy: Option<Proxy>,
}

/// How a server is reached.
#[derive(Clone, Copy)]
enum Way {
    Straight,
    ThroughAProxy,
}

/// A Sentinel, with the folder of its file.
struct Watcher {
    port: u16,
    _process: Child,
    _folder: TempDir,
}

impl Sentinels {
    /// Starts a master that refuses writes without a replica, and replicas. `more` are further arguments of
    /// `redis-server`.
    pub async fn start(replicas: usize, more: &str) -> Self {
        Self::start_each(replicas, Way::Straight, more).await
    }

    /// As `start`, with a proxy in front of each server.
    pub async fn start_behind_proxies(replicas: usize) -> Self {
        Self::start_each(replicas, Way::ThroughAProxy, "").await
    }

    async fn start_each(replicas: usize, way: Way, more: &str) -> Self {
        let master = Server::start(way, &format!("--min-replicas-to-write 1 {more}")).await;
        let mut servers = vec![master];
        for _ in 0..replicas {
            let follow = format!("--min-replicas-to-write 1 --replicaof 127.0.0.1 {} {more}", servers[0].port);
            servers.push(Server::start(way, &follow).await);
        }
        until("the replicas follow", async || servers[0].redis.followers().await == replicas).await;
        let watchers = (0..SENTINELS).map(|_| Watcher::start(servers[0].port)).collect();
        let sentinels = Self { servers, watchers };
        sentinels.agreed().await;
        sentinels
    }

    /// Waits until each Sentinel knows the others and all servers.
    pub async fn agreed(&self) {
        for watcher in &self.watchers {
            until("the Sentinels know each other", async || {
                let known = watcher.master().await;
                let count = |what: &str| known.get(what).and_then(|text| text.parse::<usize>().ok());
                count("num-other-sentinels") == Some(SENTINELS - 1)
                    && count("num-slaves") == Some(self.servers.len() - 1)
            })
            .await;
        }
    }

    /// The index of the server that most Sentinels consider the master.
    pub async fn master(&self) -> usize {
        let mut named = Vec::new();
        for watcher in &self.watchers {
            named.push(watcher.master().await.get("port").cloned().unwrap_or_default());
        }
        named.sort();
        let named = &named[SENTINELS / 2];
        self.servers.iter().position(|server| server.port.to_string() == *named).expect("one of ours")
    }

    #[must_use]
    pub fn server(&self, number: usize) -> &TestRedis {
        &self.servers[number].redis
    }

    pub fn server_mut(&mut self, number: usize) -> &mut TestRedis {
        &mut self.servers[number].redis
    }

    /// Delays the replies of all servers behind proxies.
    pub fn answer_late(&self, by: Duration) {
        self.servers.iter().filter_map(|server| server.proxy.as_ref()).for_each(|proxy| proxy.answers_late(by));
    }

    /// Asks a Sentinel to promote a replica while the master works.
    pub async fn fail_over(&self) {
        let sentinel = self.watchers[0].store().await;
        let mut command = cmd("SENTINEL");
        command.arg("FAILOVER").arg(NAME);
        until("a Sentinel agrees to fail over", async || sentinel.command::<()>(&command).await.is_ok()).await;
    }
}

impl RunningRedis for Sentinels {
    fn url(&self) -> String {
        let hosts: Vec<_> = self.watchers.iter().map(|watcher| format!("127.0.0.1:{}", watcher.port)).collect();
        format!("redis+sentinel://{}/{NAME}", hosts.join(","))
    }

    fn folder(&self) -> &Path {
        self.servers[0].redis.folder()
    }
}

impl Server {
    async fn start(way: Way, more: &str) -> Self {
        let own = free_port();
        let proxy = match way {
            Way::Straight => None,
            Way::ThroughAProxy => Some(Proxy::on(Ipv4Addr::LOCALHOST, Behind::Tcp(([127, 0, 0, 1], own).into())).await),
        };
        let port = proxy.as_ref().map_or(own, |proxy| proxy.address.port());
        let arguments = format!(
            "--repl-diskless-sync-delay 0 --min-replicas-max-lag 2 --replica-announce-ip 127.0.0.1 \
             --replica-announce-port {port} {more}"
        );
        let arguments = arguments.split_whitespace().map(str::to_owned).collect();
        let options = ServerOptions { tcp_port: Some(own), arguments, ..ServerOptions::default() };
        Self { redis: TestRedis::with(options).await, port, proxy }
    }
}

impl Watcher {
    fn start(master: u16) -> Self {
        let (port, folder) = (free_port(), tempfile::tempdir().expect("a temporary folder"));
        let file = folder.path().join("sentinel.conf");
        let lines = [
            format!("port {port}\nbind 127.0.0.1\ndir {}", folder.path().display()),
            format!("logfile {}", folder.path().join("sentinel.log").display()),
            format!("sentinel monitor {NAME} 127.0.0.1 {master} {}", SENTINELS / 2 + 1),
            format!("sentinel down-after-milliseconds {NAME} 1000\nsentinel failover-timeout {NAME} 5000"),
        ];
        fs::write(&file, lines.join("\n")).expect("a file for the Sentinel");
        let mut command = Command::new("redis-server");
        let process = command.arg(&file).arg("--sentinel").kill_on_drop(true).spawn().expect("redis-server is in PATH");
        Self { port, _process: process, _folder: folder }
    }

    async fn store(&self) -> Store {
        let address = format!("redis://127.0.0.1:{}", self.port).parse().expect("an address");
        let settings = patient(address, Durability::Process);
        let begun = Instant::now();
        loop {
            match Store::connect(&settings).await {
                Ok(store) => return store,
                Err(error) => assert!(begun.elapsed() < PATIENCE, "the Sentinel doesn't answer: {error:?}"),
            }
        }
    }

    /// The Sentinel's information about the master.
    async fn master(&self) -> HashMap<String, String> {
        let mut question = cmd("SENTINEL");
        question.arg("MASTER").arg(NAME);
        self.store().await.command(&question).await.expect("it watches the master")
    }
}
