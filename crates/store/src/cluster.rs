//! A Redis Cluster: requests go to the node that serves their slot.
//!
//! A request is retried only after a refusal that proves that nothing was executed, and only for a short time.
//! Otherwise the caller decides. While a slot is being moved, a request goes to the node that has all of its keys
//! (ASK). Neither node serves a script if some of its keys don't exist (TRYAGAIN), so a bucket waits until its slot has
//! moved.

mod topology;

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use futures::FutureExt;
use parking_lot::RwLock;
use redis::{Value, cluster_routing::Slot};
use tokio::{sync::watch, time::Instant};

use self::topology::Topology;
use crate::connect::highest_epoch::highest_epoch;
use crate::connection::ConnectionsMade;
use crate::error::{Redirection, StoreError};
use crate::node::{Node, Request};
use crate::settings::RedisSettings;
use crate::url::{HostPort, Route};

/// How long a request is retried while the nodes refuse it.
const PATIENCE: Duration = Duration::from_millis(500);
/// The maximum of redirections to follow without a pause: to the node of the slot if it wasn't known, to the node to
/// which the slot is being moved, and one more. After these, the nodes disagree.
const MAX_REDIRECTIONS: u32 = 3;
/// The first pause between two tries. Each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// The minimum time between two reads of the slot map.
const REFRESH_INTERVAL: Duration = Duration::from_millis(200);

/// How many names of keys to try to find one for each node: four per slot.
const MAX_NAMES: u32 = 4 * 16384;

pub(crate) struct Cluster {
    settings: RedisSettings,
    seeds: Vec<HostPort>,
    topology: watch::Sender<Arc<Topology>>,
    /// The nodes that serve slots, and those to which requests were redirected since the last refresh.
    nodes: RwLock<HashMap<HostPort, Arc<Node>>>,
    /// Whether a background task is refreshing the slot map.
    is_refreshing: AtomicBool,
    made: ConnectionsMade,
}

/// Returns whether two keys are always on one node of a Cluster.
pub fn same_slot(one: &str, other: &str) -> bool {
    Slot::for_key(one) == Slot::for_key(other)
}

impl Cluster {
    /// Connects and reads the slot map.
    pub(crate) async fn open(
        settings: &RedisSettings,
        seeds: &[HostPort],
        made: ConnectionsMade,
    ) -> Result<Arc<Self>, StoreError> {
        let cluster = Arc::new(Self {
            settings: settings.clone(),
            seeds: seeds.to_vec(),
            topology: watch::Sender::default(),
            nodes: RwLock::default(),
            is_refreshing: AtomicBool::new(false),
            made,
        });
        cluster.refresh().await?;
        Ok(cluster)
    }

    /// Returns all nodes that serve slots.
    pub(crate) fn masters(&self) -> Vec<Arc<Node>> {
        let topology = Arc::clone(&self.topology.borrow());
        topology.masters().map(|at| self.node(at)).collect()
    }

    /// Returns all nodes that serve slots, each with a key in one of its slots. `name` returns a key for each number.
    /// Omits nodes for which none of many keys fits, which serve only a few slots.
    pub(crate) fn masters_with_a_key(&self, name: impl Fn(u32) -> String) -> Vec<(Arc<Node>, String)> {
        let topology = Arc::clone(&self.topology.borrow());
        let mut wanted: HashSet<&HostPort> = topology.masters().collect();
        let mut found = Vec::new();
        for key in (0..MAX_NAMES).map(name) {
            if wanted.is_empty() {
                break;
            }
            if let Some(at) = topology.owner(Slot::for_key(&key)).filter(|at| wanted.remove(at)) {
                found.push((self.node(at), key));
            }
        }
        found
    }

    /// Returns the node that serves the slot, or any node if the slot isn't known: it will redirect the request.
    pub(crate) fn node_of(&self, slot: Option<Slot>) -> Option<Arc<Node>> {
        let topology = Arc::clone(&self.topology.borrow());
        let at = match slot {
            Some(slot) => topology.owner(slot),
            None => topology.masters().next(),
        };
        at.map(|at| self.node(at))
    }

    /// Returns when the node that serves the slot can be reached.
    pub(crate) async fn connected(self: &Arc<Self>, slot: Option<Slot>) {
        let mut changes = self.topology.subscribe();
        loop {
            changes.mark_unchanged();
            let node = self.node_of(slot);
            let up = async {
                match &node {
                    Some(node) => node.connection().up().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = up => return,
                _ = changes.changed() => {}
                () = tokio::time::sleep(REFRESH_INTERVAL) => self.refresh_soon(),
            }
        }
    }

    pub(crate) async fn ask(self: &Arc<Self>, slot: Option<Slot>, request: Request<'_>) -> Result<Value, StoreError> {
        let slot = slot.or_else(|| request.key().map(Slot::for_key));
        let deadline = Instant::now() + PATIENCE;
        let (mut pause, mut redirections) = (FIRST_PAUSE, 0);
        // `ask_refusal`: the ASK reply that redirected the request to `node`, if it did.
        let (mut node, mut ask_refusal) = (self.node_of(slot), None);
        loop {
            let reply = match (&node, &ask_refusal) {
                (Some(node), None) => node.ask(request).await,
                (Some(node), Some(_)) => node.ask_for_moved(request).await,
                (None, _) => Err(StoreError::nobody_serves(request.during())),
            };
            let refusal = match (reply, ask_refusal.take()) {
                (Ok(reply), _) => return Ok(reply),
                // The ACL denies ASKING: retries after a pause, as the slot may have moved by then.
                (Err(error), Some(refusal)) if error.is_first_denied() => {
                    redirections = MAX_REDIRECTIONS;
                    refusal
                }
                (Err(error), _) => error,
            };
            if refusal.may_be_elsewhere() {
                self.refresh_soon();
            }
            match refusal.redirection(node.as_ref().and_then(|node| node.at())) {
                Some(_) if Instant::now() >= deadline => return Err(refusal),
                Some(Redirection::To(at)) if redirections < MAX_REDIRECTIONS => {
                    redirections += 1;
                    node = Some(self.node(&at));
                }
                Some(Redirection::Ask(at)) if redirections < MAX_REDIRECTIONS => {
                    redirections += 1;
                    (node, ask_refusal) = (Some(self.node(&at)), Some(refusal));
                }
                Some(_) => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                    (node, redirections) = (self.node_of(slot), 0);
                }
                None => return Err(refusal),
            }
        }
    }

    /// Refreshes the slot map in the background.
    pub(crate) fn refresh_soon(self: &Arc<Self>) {
        if !self.is_refreshing.swap(true, Ordering::Relaxed) {
            tokio::spawn(refresh_once(RefreshGuard(Arc::downgrade(self))));
        }
    }

    async fn refresh(&self) -> Result<(), StoreError> {
        let known = Arc::clone(&self.topology.borrow());
        let addresses: HashSet<&HostPort> = known.nodes().chain(&self.seeds).collect();
        let reads = addresses.into_iter().map(|at| topology::read_from(&self.settings, at).boxed()).collect();
        let latest = highest_epoch(reads).await;
        let latest = latest.unwrap_or_else(|| Err(StoreError::unreachable(&self.settings.url)))?;
        self.nodes.write().retain(|at, _| latest.is_master(at));
        if !known.has_masters_of(&latest) {
            tracing::info!(redis = %self.settings.url, masters = %latest, "all slots of the Redis Cluster are served");
        }
        self.topology.send_replace(Arc::new(latest));
        Ok(())
    }

    fn node(&self, at: &HostPort) -> Arc<Node> {
        if let Some(node) = self.nodes.read().get(at) {
            return Arc::clone(node);
        }
        let mut nodes = self.nodes.write();
        let open = || Node::open(&self.settings, Route::Tcp(at.clone()), &self.made);
        Arc::clone(nodes.entry(at.clone()).or_insert_with(open))
    }
}

/// Resets `is_refreshing` when dropped.
struct RefreshGuard(Weak<Cluster>);

impl Drop for RefreshGuard {
    fn drop(&mut self) {
        self.0.upgrade().into_iter().for_each(|cluster| cluster.is_refreshing.store(false, Ordering::Relaxed));
    }
}

async fn refresh_once(guard: RefreshGuard) {
    if let Some(cluster) = guard.0.upgrade()
        && let Err(error) = cluster.refresh().await
    {
        tracing::debug!(error = %error, "no node of the Redis Cluster returned the slot map");
    }
    tokio::time::sleep(REFRESH_INTERVAL).await;
}
