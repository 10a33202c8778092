use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::RwLock;
use redis::{Cmd, FromRedisValue, Pipeline, Value, cluster_routing::Slot, from_redis_value};

use crate::cluster::Cluster;
use crate::connect::connector::Connector;
use crate::connection::ConnectionsMade;
use crate::connection::bell::{Bell, BellMessages};
use crate::connection::subscriptions::{Subscription, Subscriptions};
use crate::durability::Durability;
use crate::error::StoreError;
use crate::large_requests::LargeTurn;
use crate::node::{Node, Request};
use crate::salt::Salt;
use crate::script::Call;
use crate::settings::RedisSettings;
use crate::url::{Address, Deployment};

/// A Redis client. Cheap to clone; clones share their connections.
///
/// A call fails within `response_timeout` plus half a second (in a Cluster plus one second), whatever the state of
/// Redis, and Redis is used again within a second after it is back. Connections are renewed automatically.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
    /// The destination of requests in a Cluster.
    destination: Destination,
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(self.address()).finish()
    }
}

struct Inner {
    prefix: String,
    address: Address,
    /// The effective durability class, as last determined.
    durability: RwLock<Durability>,
    /// Whether Redis denied us CONFIG.
    config_denied: AtomicBool,
    slow_log_denied: AtomicBool,
    subscriptions: Arc<Subscriptions>,
    backend: Backend,
    made: ConnectionsMade,
    salt: Salt,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.subscriptions.close();
    }
}

enum Backend {
    Server(Arc<Node>),
    Cluster(Arc<Cluster>),
}

#[derive(Clone)]
enum Destination {
    Anywhere,
    Slot(Slot),
    Node(Arc<Node>),
}

impl Store {
    /// Connects, and checks that Redis responds; in a Cluster, that each master does.
    ///
    /// # Errors
    /// When Redis can't be reached, denies access, or is still loading its data.
    pub async fn connect(settings: &RedisSettings) -> Result<Self, StoreError> {
        let store = Self::open(settings).await?;
        store.ping().await?;
        Ok(store)
    }

    /// Connects without the check of [`Store::connect`], so Redis may still be loading its data.
    ///
    /// # Errors
    /// When Redis can't be reached, or denies access.
    pub async fn open(settings: &RedisSettings) -> Result<Self, StoreError> {
        let store = Self::begin(settings).await?;
        for node in store.nodes() {
            node.attempted().await?;
        }
        Ok(store)
    }

    /// Like [`Store::connect`], but succeeds if some masters of a Cluster are unreachable, and returns their errors.
    ///
    /// # Errors
    /// When all masters are unreachable, or one denies access.
    pub async fn connect_to_reachable(settings: &RedisSettings) -> Result<(Self, Vec<StoreError>), StoreError> {
        let store = Self::begin(settings).await?;
        let (nodes, ping) = (store.nodes(), redis::cmd("PING"));
        let answers = futures::future::join_all(nodes.iter().map(|node| async {
            node.attempted().await?;
            node.ask(Request::Command(&ping)).await
        }));
        let away: Vec<StoreError> = answers.await.into_iter().filter_map(Result::err).collect();
        match away.iter().find(|error| away.len() == nodes.len() || !error.is_transient()) {
            Some(error) => Err(error.clone()),
            None if nodes.is_empty() => Err(StoreError::nobody_serves(Request::Command(&ping).during())),
            None => Ok((store, away)),
        }
    }

    /// Begins to connect.
    async fn begin(settings: &RedisSettings) -> Result<Self, StoreError> {
        let made = ConnectionsMade::default();
        let backend = match &settings.url.deployment {
            Deployment::Server(route) => Backend::Server(Node::open(settings, route.clone(), &made)),
            Deployment::Cluster(seeds) => Backend::Cluster(Cluster::open(settings, seeds, made.clone()).await?),
        };
        let (prefix, address) = (settings.prefix.clone(), settings.url.clone());
        let durability = RwLock::new(settings.durability);
        let (subscriptions, salt) = (Arc::default(), Salt::default());
        let inner = Inner {
            prefix,
            address,
            durability,
            config_denied: AtomicBool::new(false),
            slow_log_denied: AtomicBool::new(false),
            subscriptions,
            backend,
            made,
            salt,
        };
        Ok(Self { inner: Arc::new(inner), destination: Destination::Anywhere })
    }

    /// Returns the same client, which in a Cluster sends commands without a key (TIME, PING) to the node that serves
    /// the slot of `key`, even after the slot has moved.
    #[must_use]
    pub fn for_key(self, key: &str) -> Self {
        Self { destination: Destination::Slot(Slot::for_key(key)), ..self }
    }

    /// Returns a client for each server that accepts writes.
    pub fn masters(&self) -> Vec<Self> {
        let each = |node| Self { inner: Arc::clone(&self.inner), destination: Destination::Node(node) };
        self.nodes().into_iter().map(each).collect()
    }

    /// Returns whether it is a Redis Cluster.
    pub fn is_cluster(&self) -> bool {
        matches!(self.inner.backend, Backend::Cluster(_))
    }

    /// Returns the prefix of all keys.
    pub fn prefix(&self) -> &str {
        &self.inner.prefix
    }

    /// Returns the salt of the installation, for hashed keys.
    pub fn salt(&self) -> &Salt {
        &self.inner.salt
    }

    /// Returns the effective durability class: as configured, until [`Store::set_durability`] sets another one.
    pub fn durability(&self) -> Durability {
        *self.inner.durability.read()
    }

    /// Sets the durability class that Redis was found to provide.
    pub fn set_durability(&self, class: Durability) {
        *self.inner.durability.write() = class;
    }

    pub(crate) fn is_config_denied(&self) -> bool {
        self.inner.config_denied.load(Ordering::Relaxed)
    }

    pub(crate) fn config_was_denied(&self) {
        self.inner.config_denied.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_slow_log_denied(&self) -> bool {
        self.inner.slow_log_denied.load(Ordering::Relaxed)
    }

    pub(crate) fn slow_log_was_denied(&self) {
        self.inner.slow_log_denied.store(true, Ordering::Relaxed);
    }

    /// Returns the address of Redis.
    pub fn address(&self) -> &Address {
        match &self.destination {
            Destination::Node(node) => node.address(),
            Destination::Anywhere | Destination::Slot(_) => &self.inner.address,
        }
    }

    /// Returns whether all connections are up. Makes no request.
    pub fn is_connected(&self) -> bool {
        self.nodes().iter().all(|node| node.connection().is_up())
    }

    /// Returns how many connections were made so far. After another one Redis may have lost what it had confirmed
    /// before: it was restarted, or another server has taken over. To be asked before the request that is to show it.
    pub fn connections_made(&self) -> u64 {
        self.inner.made.number()
    }

    /// Waits until there is a connection.
    pub async fn connected(&self) {
        match (&self.destination, &self.inner.backend) {
            (Destination::Node(node), _) | (_, Backend::Server(node)) => node.connection().up().await,
            (Destination::Slot(slot), Backend::Cluster(cluster)) => cluster.connected(Some(*slot)).await,
            (Destination::Anywhere, Backend::Cluster(cluster)) => cluster.connected(None).await,
        }
    }

    /// Closes the connections of this store and its clones. Later calls fail. If Redis stops afterwards, that isn't
    /// logged.
    pub fn close(&self) {
        self.inner.subscriptions.close();
        self.nodes().iter().for_each(|node| node.close());
    }

    /// Sends PING; in a Cluster to each master.
    ///
    /// # Errors
    /// As for any command.
    pub async fn ping(&self) -> Result<(), StoreError> {
        let ping = redis::cmd("PING");
        let nodes = self.nodes();
        if nodes.is_empty() {
            return Err(StoreError::nobody_serves(Request::Command(&ping).during()));
        }
        let answers = nodes.iter().map(|node| node.ask(Request::Command(&ping)));
        futures::future::try_join_all(answers).await.map(drop)
    }

    /// Runs a script by its hash, and if Redis doesn't have it (after a restart or a failover), again with its source.
    ///
    /// # Errors
    /// Named after the script.
    pub async fn run<T: FromRedisValue>(&self, call: &Call<'_>) -> Result<T, StoreError> {
        self.ask(Request::Script(call)).await
    }

    /// Runs a script with the configured durability: with the class `replicated`, returns after the replicas have
    /// confirmed its writes.
    ///
    /// # Errors
    /// As [`Store::run`], and `NotReplicated`, with an unknown outcome, when a replica didn't confirm in time.
    pub async fn run_durably<T: FromRedisValue>(&self, call: &Call<'_>) -> Result<T, StoreError> {
        self.ask(Request::Durable(call)).await
    }

    /// Waits until a large request may be made to the server of this store. While there are small requests, large ones
    /// are delayed. Returns `None` if no node serves the slot.
    pub async fn large_turn(&self, bytes: usize) -> Option<LargeTurn> {
        let requests = self.nodes().first()?.large_requests();
        Some(requests.turn(bytes).await)
    }

    /// After a request that turned out to be large, waits as long as the server should be left to small ones.
    pub async fn rest_after_large(&self, bytes: usize, took: Duration) {
        if let Some(node) = self.nodes().first() {
            node.large_requests().rest(bytes, took).await;
        }
    }

    /// Runs one command. Not for blocking reads, which would delay all other commands of the connection.
    ///
    /// # Errors
    /// Named after the command.
    pub async fn command<T: FromRedisValue>(&self, cmd: &Cmd) -> Result<T, StoreError> {
        self.ask(Request::Command(cmd)).await
    }

    /// Runs several commands in one round trip; in a Cluster on keys of one slot.
    ///
    /// # Errors
    /// The first failure. The other commands may have been executed, so the outcome is unknown.
    pub async fn pipeline<T: FromRedisValue>(&self, pipeline: &Pipeline) -> Result<T, StoreError> {
        self.ask(Request::Pipeline(pipeline)).await
    }

    /// Subscribes to `channel`, over one connection for all channels. If messages may have been lost, the subscriber is
    /// notified.
    pub fn subscribe(&self, channel: &str) -> Subscription {
        self.inner.subscriptions.subscribe(channel, self.pub_sub_connectors())
    }

    /// Returns a bell that rings when the message is published on `channel`, and when that may have been missed. Uses
    /// the connection of the subscriptions. All bells of a channel must have the same messages.
    pub fn bell(&self, channel: &str, messages: impl Into<BellMessages>) -> Bell {
        self.inner.subscriptions.bell(channel, messages.into(), self.pub_sub_connectors())
    }

    /// Returns a function that returns a connector for each new pub/sub connection.
    fn pub_sub_connectors(&self) -> impl Fn() -> Option<Connector> + Clone + Send + Sync + 'static {
        let inner = Arc::downgrade(&self.inner);
        // In a Cluster each node forwards the messages of all nodes, so another node is used after each loss.
        let next = Arc::new(AtomicUsize::new(0));
        move || match &inner.upgrade()?.backend {
            Backend::Server(node) => Some(node.connection().connector().clone()),
            Backend::Cluster(cluster) => {
                let masters = cluster.masters();
                let index = next.fetch_add(1, Ordering::Relaxed).checked_rem(masters.len())?;
                masters.get(index).map(|node| node.connection().connector().clone())
            }
        }
    }

    /// Refreshes the slot map if `error` may come from a node that no longer serves its slots.
    pub(crate) fn refresh_if_outdated(&self, error: &StoreError) {
        if let Backend::Cluster(cluster) = &self.inner.backend
            && error.may_be_elsewhere()
        {
            cluster.refresh_soon();
        }
    }

    /// Returns each server that should accept writes, with a key that it serves. `name` returns a key for each number.
    pub(crate) fn servers_with_a_key(&self, name: impl Fn(u32) -> String) -> Vec<(Arc<Node>, String)> {
        match (&self.destination, &self.inner.backend) {
            (_, Backend::Server(node)) => vec![(Arc::clone(node), name(0))],
            (Destination::Node(only), Backend::Cluster(cluster)) => {
                cluster.masters_with_a_key(name).into_iter().filter(|(node, _)| Arc::ptr_eq(node, only)).collect()
            }
            (Destination::Anywhere | Destination::Slot(_), Backend::Cluster(cluster)) => {
                cluster.masters_with_a_key(name)
            }
        }
    }

    async fn ask<T: FromRedisValue>(&self, request: Request<'_>) -> Result<T, StoreError> {
        let reply = self.reply_to(request).await?;
        from_redis_value(reply).map_err(|error| StoreError::calling(request.during(), error.into()))
    }

    /// Separate from the conversion of the reply, so that this code is compiled once, and not for each type.
    async fn reply_to(&self, request: Request<'_>) -> Result<Value, StoreError> {
        match (&self.destination, &self.inner.backend) {
            (Destination::Node(node), _) | (_, Backend::Server(node)) => node.ask(request).await,
            (Destination::Slot(slot), Backend::Cluster(cluster)) => cluster.ask(Some(*slot), request).await,
            (Destination::Anywhere, Backend::Cluster(cluster)) => cluster.ask(None, request).await,
        }
    }

    /// Returns the destinations of requests without a key: one server, or all masters of a Cluster.
    pub(crate) fn nodes(&self) -> Vec<Arc<Node>> {
        match (&self.destination, &self.inner.backend) {
            (Destination::Node(node), _) | (_, Backend::Server(node)) => vec![Arc::clone(node)],
            (Destination::Slot(slot), Backend::Cluster(cluster)) => cluster.node_of(Some(*slot)).into_iter().collect(),
            (Destination::Anywhere, Backend::Cluster(cluster)) => cluster.masters(),
        }
    }
}
