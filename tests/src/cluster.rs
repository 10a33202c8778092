//! A private Redis Cluster for one test, with nodes on ports of 127.0.0.1, which ends with the test.

use std::path::Path;
use std::time::{Duration, Instant};

use dripfeed_store::{Durability, ServerOptions, Store};
use redis::{Value, cmd};

use crate::redis_server::{RunningRedis, TestRedis, free_port_of_a_node, patient};
use crate::service::until;

const SLOTS: usize = 16384;
/// Keys per `MIGRATE`, as in the tools of Redis.
const MOVED_AT_ONCE: usize = 10;

pub struct TestCluster {
    nodes: Vec<Node>,
}

/// One server of the Cluster. Commands for this node use its socket, so that they aren't redirected.
pub struct Node {
    pub redis: TestRedis,
    pub id: String,
    port: u16,
}

impl TestCluster {
    /// Starts masters and, for each of them, replicas; if there are any, each write needs one. `more` are further
    /// arguments of `redis-server`.
    pub async fn start(masters: usize, replicas: usize, more: &str) -> Self {
        let mut nodes = Vec::new();
        for _ in 0..masters * (1 + replicas) {
            nodes.push(Node::start(more).await);
        }
        let cluster = Self { nodes };
        for node in &cluster.nodes[1..] {
            cluster.nodes[0].redis.ask::<()>(&format!("CLUSTER MEET 127.0.0.1 {}", node.port)).await;
        }
        for (number, node) in cluster.nodes[..masters].iter().enumerate() {
            let slots = SLOTS * number / masters..SLOTS * (number + 1) / masters;
            let slots: Vec<_> = slots.map(|slot| slot.to_string()).collect();
            node.redis.ask::<()>(&format!("CLUSTER ADDSLOTS {}", slots.join(" "))).await;
        }
        cluster.agreed().await;
        for (number, node) in cluster.nodes[masters..].iter().enumerate() {
            let master = &cluster.nodes[number % masters].id;
            node.redis.ask::<()>(&format!("CLUSTER REPLICATE {master}")).await;
        }
        for master in &cluster.nodes[..masters] {
            until("its replicas follow", async || master.redis.followers().await == replicas).await;
        }
        for node in &cluster.nodes {
            node.redis.ask::<()>(&format!("CONFIG SET min-replicas-to-write {}", replicas.min(1))).await;
        }
        cluster.agreed().await;
        cluster
    }

    /// Waits until all nodes know each other, and all slots are served.
    pub async fn agreed(&self) {
        for node in &self.nodes {
            until("the nodes agree", async || {
                let info: redis::InfoDict = node.redis.ask("CLUSTER INFO").await;
                info.get::<String>("cluster_state").as_deref() == Some("ok")
                    && info.get("cluster_known_nodes") == Some(self.nodes.len())
            })
            .await;
        }
    }

    /// A store with this durability of writes.
    pub async fn store(&self, durability: Durability) -> Store {
        let address = self.url().parse().expect("an address");
        Store::connect(&patient(address, durability)).await.expect("the Cluster answers")
    }

    /// The index of the node that serves the key.
    pub async fn owner_of(&self, key: &str) -> usize {
        self.owner_as_seen_by(&self.nodes[0], key).await
    }

    /// The index of the node that serves the key according to a node other than `gone`, which may not answer.
    pub async fn owner_without(&self, gone: usize, key: &str) -> usize {
        self.owner_as_seen_by(&self.nodes[(gone + 1) % self.nodes.len()], key).await
    }

    async fn owner_as_seen_by(&self, node: &Node, key: &str) -> usize {
        let slot: u16 = node.redis.ask(&format!("CLUSTER KEYSLOT {key}")).await;
        // First slot, last slot, their master (its host, its port, and more), its replicas.
        let rows: Vec<Vec<Value>> = node.redis.ask("CLUSTER SLOTS").await;
        let serves = |row: Vec<Value>| {
            let row = Value::Array(row.into_iter().take(3).collect());
            let (first, last, master): (u16, u16, Vec<Value>) = redis::from_redis_value(row).ok()?;
            let port = redis::from_redis_value(master.into_iter().nth(1)?).ok()?;
            (first..=last).contains(&slot).then_some(port)
        };
        let port = rows.into_iter().find_map(serves);
        self.nodes.iter().position(|node| Some(node.port) == port).expect("somebody serves it")
    }

    #[must_use]
    pub fn node(&self, number: usize) -> &Node {
        &self.nodes[number]
    }

    pub fn node_mut(&mut self, number: usize) -> &mut Node {
        &mut self.nodes[number]
    }

    /// The index of a replica of the node.
    pub async fn replica_of(&self, number: usize) -> usize {
        let port = format!("master_port:{}\r", self.nodes[number].port);
        for (place, node) in self.nodes.iter().enumerate() {
            if node.redis.ask::<String>("INFO replication").await.contains(&port) {
                return place;
            }
        }
        panic!("it has no replica")
    }

    /// Promotes a replica while its master works.
    pub async fn steps_in(&self, replica: usize) {
        let replica = &self.nodes[replica].redis;
        until("it is promoted", async || {
            // Redis gives up a failover after five seconds, which may be too short on a busy machine.
            let asked = Instant::now();
            let _: String = replica.ask("CLUSTER FAILOVER").await;
            while !replica.is_master().await && asked.elapsed() < Duration::from_secs(6) {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            replica.is_master().await
        })
        .await;
    }

    /// Moves the slot of the key with all of its keys to another master, as the tools of Redis do. Calls `halfway` when
    /// some keys have been moved.
    pub async fn move_slot_of<F: Future>(&self, key: &str, to: usize, halfway: impl FnOnce() -> F) {
        let (from, to) = (&self.nodes[self.owner_of(key).await], &self.nodes[to]);
        let slot: u16 = from.redis.ask(&format!("CLUSTER KEYSLOT {key}")).await;
        to.redis.ask::<()>(&format!("CLUSTER SETSLOT {slot} IMPORTING {}", from.id)).await;
        from.redis.ask::<()>(&format!("CLUSTER SETSLOT {slot} MIGRATING {}", to.id)).await;
        let mut halfway = Some(halfway);
        loop {
            let keys: Vec<String> = from.redis.ask(&format!("CLUSTER GETKEYSINSLOT {slot} {MOVED_AT_ONCE}")).await;
            if keys.is_empty() {
                break;
            }
            let mut migrate = cmd("MIGRATE");
            migrate.arg("127.0.0.1").arg(to.port).arg("").arg(0).arg(5000).arg("KEYS").arg(keys);
            from.redis.store().await.command::<Value>(&migrate).await.expect("the keys move");
            if let Some(halfway) = halfway.take() {
                halfway().await;
            }
        }
        for node in [to, from] {
            node.redis.ask::<()>(&format!("CLUSTER SETSLOT {slot} NODE {}", to.id)).await;
        }
    }
}

impl RunningRedis for TestCluster {
    fn url(&self) -> String {
        let hosts: Vec<_> = self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
        format!("redis+cluster://{}", hosts.join(","))
    }

    fn folder(&self) -> &Path {
        self.nodes[0].redis.folder()
    }
}

impl Node {
    async fn start(more: &str) -> Self {
        let port = free_port_of_a_node();
        let arguments = format!(
            "--cluster-enabled yes --cluster-node-timeout 1500 --cluster-announce-ip 127.0.0.1 \
             --cluster-allow-replica-migration no --repl-diskless-sync-delay 0 --min-replicas-max-lag 2 {more}"
        );
        let arguments = arguments.split_whitespace().map(str::to_owned).collect();
        let redis =
            TestRedis::with(ServerOptions { tcp_port: Some(port), arguments, ..ServerOptions::default() }).await;
        let id = redis.ask("CLUSTER MYID").await;
        Self { redis, id, port }
    }
}
