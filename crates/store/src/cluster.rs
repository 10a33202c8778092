//! A Redis Cluster: requests go to the node that serves their slot.
//!
//! A request is repeated only after a refusal that proves that nothing was executed, and only for a short time;
//! otherwise the caller decides. While a slot is moved, a request goes where all of its keys are (ASK). A script with
//! several keys, some of which don't exist, is served by neither node (TRYAGAIN); so a bucket waits until its slot has
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
use crate::connection::connections_made::ConnectionsMade;
use crate::error::{Redirection, StoreError};
use crate::node::{Node, Request};
use crate::settings::RedisSettings;
use crate::url::{HostPort, Route};

/// How long a request is tried while the nodes refuse it.
const PATIENCE: Duration = Duration::from_millis(500);
/// Redirections that are followed at once: of a request whose slot isn't known, to the node of its slot, from there to
/// the one that the slot is moving to; and one more. After these, the nodes don't agree.
const MOST_FOLLOWED: u32 = 3;
/// The first pause between two tries; each is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
/// The nodes are asked no more often than this who serves what.
const BETWEEN_QUESTIONS: Duration = Duration::from_millis(200);

/// Names of keys that are tried to find one of each node: four for each slot.
const NAMES_TRIED: u32 = 4 * 16384;

pub(crate) struct Cluster {
    settings: RedisSettings,
    seeds: Vec<HostPort>,
    topology: watch::Sender<Arc<Topology>>,
    /// Those that serve slots, and those that a redirection named since.
    nodes: RwLock<HashMap<HostPort, Arc<Node>>>,
    asking: AtomicBool,
    made: ConnectionsMade,
}

/// Whether two keys are always on one node of a Cluster.
pub fn same_slot(one: &str, other: &str) -> bool {
    Slot::for_key(one) == Slot::for_key(other)
}

impl Cluster {
    /// Asks who serves what.
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
            asking: AtomicBool::new(false),
            made,
        });
        cluster.look().await?;
        Ok(cluster)
    }

    /// All that serve slots.
    pub(crate) fn masters(&self) -> Vec<Arc<Node>> {
        let topology = Arc::clone(&self.topology.borrow());
        topology.masters().map(|at| self.node(at)).collect()
    }

    /// All that serve slots, each with a key of one of its slots, by one of the names of numbers. One that none of many
    /// names leads to is left out: it serves a few slots at most.
    pub(crate) fn masters_with_a_key(&self, name: impl Fn(u32) -> String) -> Vec<(Arc<Node>, String)> {
        let topology = Arc::clone(&self.topology.borrow());
        let mut wanted: HashSet<&HostPort> = topology.masters().collect();
        let mut found = Vec::new();
        for key in (0..NAMES_TRIED).map(name) {
            if wanted.is_empty() {
                break;
            }
            if let Some(at) = topology.owner(Slot::for_key(&key)).filter(|at| wanted.remove(at)) {
                found.push((self.node(at), key));
            }
        }
        found
    }

    /// Who serves the slot; any, where the slot of a request isn't known: it will be redirected.
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
                () = tokio::time::sleep(BETWEEN_QUESTIONS) => self.look_soon(),
            }
        }
    }

    pub(crate) async fn ask(self: &Arc<Self>, slot: Option<Slot>, request: Request<'_>) -> Result<Value, StoreError> {
        let slot = slot.or_else(|| request.key().map(Slot::for_key));
        let until = Instant::now() + PATIENCE;
        let (mut pause, mut followed) = (FIRST_PAUSE, 0);
        // With the refusal that led there, where the slot is moving to that node.
        let (mut node, mut moving) = (self.node_of(slot), None);
        loop {
            let answer = match (&node, &moving) {
                (Some(node), None) => node.ask(request).await,
                (Some(node), Some(_)) => node.ask_for_moved(request).await,
                (None, _) => Err(StoreError::nobody_serves(request.during())),
            };
            let refusal = match (answer, moving.take()) {
                (Ok(reply), _) => return Ok(reply),
                // The ACL denies ASKING.
                (Err(error), Some(refusal)) if error.is_first_denied() => {
                    followed = MOST_FOLLOWED;
                    refusal
                }
                (Err(error), _) => error,
            };
            if refusal.may_be_elsewhere() {
                self.look_soon();
            }
            match refusal.redirection(node.as_ref().and_then(|node| node.at())) {
                Some(_) if Instant::now() >= until => return Err(refusal),
                Some(Redirection::To(at)) if followed < MOST_FOLLOWED => {
                    followed += 1;
                    node = Some(self.node(&at));
                }
                Some(Redirection::Ask(at)) if followed < MOST_FOLLOWED => {
                    followed += 1;
                    (node, moving) = (Some(self.node(&at)), Some(refusal));
                }
                Some(_) => {
                    tokio::time::sleep(pause).await;
                    pause *= 2;
                    (node, followed) = (self.node_of(slot), 0);
                }
                None => return Err(refusal),
            }
        }
    }

    /// Asks in the background who serves what.
    pub(crate) fn look_soon(self: &Arc<Self>) {
        if !self.asking.swap(true, Ordering::Relaxed) {
            tokio::spawn(look_again(Asking(Arc::downgrade(self))));
        }
    }

    async fn look(&self) -> Result<(), StoreError> {
        let known = Arc::clone(&self.topology.borrow());
        let places: HashSet<&HostPort> = known.nodes().chain(&self.seeds).collect();
        let answer =
            highest_epoch(places.into_iter().map(|at| topology::by(&self.settings, at).boxed()).collect()).await;
        let found = answer.unwrap_or_else(|| Err(StoreError::unreachable(&self.settings.url)))?;
        self.nodes.write().retain(|at, _| found.is_master(at));
        if !known.has_masters_of(&found) {
            tracing::info!(redis = %self.settings.url, masters = %found, "all slots of the Redis Cluster are served");
        }
        self.topology.send_replace(Arc::new(found));
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

/// That it is asked who serves what. However that ends, it is asked again later.
struct Asking(Weak<Cluster>);

impl Drop for Asking {
    fn drop(&mut self) {
        self.0.upgrade().into_iter().for_each(|cluster| cluster.asking.store(false, Ordering::Relaxed));
    }
}

async fn look_again(asking: Asking) {
    if let Some(cluster) = asking.0.upgrade()
        && let Err(error) = cluster.look().await
    {
        tracing::debug!(error = %error, "no node of the Redis Cluster returned the slot map");
    }
    tokio::time::sleep(BETWEEN_QUESTIONS).await;
}
