//! Finds problems of a server, with their remedies.

use crate::checks::durability_check::effective_durability;
use crate::checks::server_info::{ServerInfo, Version};
use crate::durability::Durability;

/// The oldest server that has all commands that the scripts use.
const OLDEST: Version = Version { major: 6, minor: 2, patch: 0 };

/// A problem of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFinding {
    /// Its severity.
    pub severity: Severity,
    /// What was found.
    pub what: String,
    /// What to do about it.
    pub what_to_do: String,
}

/// The severity of a [`ServerFinding`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The server can't be used: roles don't start.
    Error,
    /// The server provides a lower durability than configured, or doesn't work now, but may work again without a change
    /// of settings.
    Warning,
}

/// Returns the problems of a server. `durability`: the configured class.
pub fn server_findings(info: &ServerInfo, durability: Durability) -> Vec<ServerFinding> {
    [
        too_old(info),
        cluster(info),
        replica(info),
        evicting(info),
        not_writing(info),
        refusing(info),
        less_durable(info, durability),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn too_old(info: &ServerInfo) -> Option<ServerFinding> {
    (info.version < OLDEST).then(|| {
        error(format!("this is {}, older than Redis {OLDEST}", info.product), "use Redis 6.2 or newer, or Valkey")
    })
}

fn cluster(info: &ServerInfo) -> Option<ServerFinding> {
    (info.is_cluster && !info.is_reached_as_cluster).then(|| {
        error(
            "this is a node of a Redis Cluster, which has only some of the keys".to_owned(),
            "use redis.url = redis+cluster://host1,host2",
        )
    })
}

fn replica(info: &ServerInfo) -> Option<ServerFinding> {
    (!info.is_master).then(|| {
        error(
            "this is a replica, which accepts no writes".to_owned(),
            "point redis.url at the master, or at the Sentinels: redis+sentinel://host1,host2/name",
        )
    })
}

fn evicting(info: &ServerInfo) -> Option<ServerFinding> {
    (info.eviction != "noeviction").then(|| {
        error(
            format!("maxmemory-policy is `{}`: Redis may evict accepted jobs when its memory is full", info.eviction),
            "set `maxmemory-policy noeviction` in Redis",
        )
    })
}

fn not_writing(info: &ServerInfo) -> Option<ServerFinding> {
    (!info.append_only_works).then(|| {
        error(
            "the last write to the append-only file failed, so Redis refuses writes".to_owned(),
            "check the log of Redis; the disk may be full",
        )
    })
}

/// Only a warning, as it may be over soon: roles start, and aren't ready.
fn refusing(info: &ServerInfo) -> Option<ServerFinding> {
    let (why, what_to_do) = match info.refuses_writes.as_deref()? {
        "NOREPLICAS" => (
            "fewer replicas follow than `min-replicas-to-write`",
            "check `INFO replication`; connect replicas, or lower that setting of Redis",
        ),
        "MISCONF" if info.append_only_works => {
            ("its last snapshot couldn't be written", "check the log of Redis; the disk may be full")
        }
        "CLUSTERDOWN" => ("the Redis Cluster is down", "check `CLUSTER INFO`: each slot needs a node that serves it"),
        // Other findings report the append-only file and a replica.
        _ => return None,
    };
    let (severity, what) = (Severity::Warning, format!("Redis refuses writes now: {why}"));
    Some(ServerFinding { severity, what, what_to_do: what_to_do.to_owned() })
}

fn less_durable(info: &ServerInfo, durability: Durability) -> Option<ServerFinding> {
    let (severity, shortfall) = match effective_durability(durability, info) {
        Ok(effective) => (Severity::Warning, effective.shortfall?),
        Err(shortfall) => (Severity::Error, shortfall),
    };
    Some(ServerFinding { severity, what: shortfall.what(), what_to_do: shortfall.what_to_do().to_owned() })
}

fn error(what: String, what_to_do: &str) -> ServerFinding {
    ServerFinding { severity: Severity::Error, what, what_to_do: what_to_do.to_owned() }
}

#[cfg(test)]
mod tests;
