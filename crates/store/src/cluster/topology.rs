//! The slot map, as reported by one node.

use std::{collections::HashMap, fmt};

use redis::{InfoDict, Value, cluster_routing::Slot, from_redis_value, pipe};
use tokio::time::timeout;

use crate::connect::connector::Connector;
use crate::connect::highest_epoch::HasEpoch;
use crate::error::{Operation, StoreError};
use crate::settings::RedisSettings;
use crate::url::{HostPort, Route};

#[derive(Debug, Default)]
pub(crate) struct Topology {
    epoch: u64,
    masters: Vec<HostPort>,
    replicas: Vec<HostPort>,
    /// The indices of the slots' masters in `masters`.
    owners: HashMap<Slot, usize>,
}

impl HasEpoch for Topology {
    fn epoch(&self) -> u64 {
        self.epoch
    }
}

/// Reads the slot map from the node at `at`.
pub(crate) async fn read_from(settings: &RedisSettings, at: &HostPort) -> Result<Topology, StoreError> {
    let (mut connection, _) = Connector::new(settings, Route::Tcp(at.clone())).connect(|| ()).await?;
    let mut commands = pipe();
    commands.cmd("CLUSTER").arg("INFO").cmd("CLUSTER").arg("SLOTS");
    let during = Operation::Pipeline(&commands);
    let (info, slots): (InfoDict, Vec<Value>) =
        timeout(settings.response_timeout, commands.query_async(&mut connection))
            .await
            .map_err(|_| StoreError::timed_out(during))?
            .map_err(|error| StoreError::calling(during, error).or_no_cluster(&settings.url))?;
    let mut topology = Topology { epoch: info.get("cluster_current_epoch").unwrap_or(0), ..Topology::default() };
    for row in slots {
        topology.add(row, at);
    }
    Ok(topology)
}

impl Topology {
    pub(super) fn owner(&self, slot: Slot) -> Option<&HostPort> {
        self.owners.get(&slot).and_then(|index| self.masters.get(*index))
    }

    /// Returns the nodes that serve slots.
    pub(super) fn masters(&self) -> impl Iterator<Item = &HostPort> {
        self.masters.iter()
    }

    pub(super) fn is_master(&self, at: &HostPort) -> bool {
        self.masters.contains(at)
    }

    pub(super) fn has_masters_of(&self, other: &Self) -> bool {
        self.masters.len() == other.masters.len() && other.masters().all(|at| self.is_master(at))
    }

    /// Masters and replicas.
    pub(super) fn nodes(&self) -> impl Iterator<Item = &HostPort> {
        self.masters.iter().chain(&self.replicas)
    }

    /// Adds a row of CLUSTER SLOTS: first slot, last slot, their master, its replicas. Ignores a row that can't be
    /// parsed, so its slots have no owner.
    fn add(&mut self, row: Value, asked: &HostPort) {
        let Ok(row) = from_redis_value::<Vec<Value>>(row) else { return };
        let mut row = row.into_iter();
        let mut slot = || row.next().and_then(|slot| from_redis_value::<u16>(slot).ok());
        let (Some(first), Some(last)) = (slot(), slot()) else { return };
        let mut nodes = row.map(|node| read_node(node, asked));
        let Some(Some(master)) = nodes.next() else { return };
        self.replicas.extend(nodes.flatten());
        let index = self.masters.iter().position(|known| *known == master).unwrap_or_else(|| {
            self.masters.push(master);
            self.masters.len() - 1
        });
        self.owners.extend((first..=last).filter_map(Slot::new).map(|slot| (slot, index)));
    }
}

/// Parses host and port. An empty host means that of the asked node, which doesn't know it.
fn read_node(node: Value, asked: &HostPort) -> Option<HostPort> {
    let mut node = from_redis_value::<Vec<Value>>(node).ok()?.into_iter();
    let host = from_redis_value::<Option<String>>(node.next()?).ok()?.unwrap_or_default();
    let port = from_redis_value(node.next()?).ok()?;
    match host.as_str() {
        "?" => None,
        "" => Some(HostPort { host: asked.host.clone(), port }),
        _ => Some(HostPort { host, port }),
    }
}

/// Shows the masters.
impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let masters: Vec<_> = self.masters.iter().map(HostPort::to_string).collect();
        f.write_str(&masters.join(","))
    }
}
