//! Problems of a server, and their remedies.

use crate::checks::durability_check::effective;
use crate::checks::server_info::{ServerInfo, Version};
use crate::durability::Durability;

/// The oldest server whose commands and replies the scripts are written for.
const OLDEST: Version = Version { major: 6, minor: 2, patch: 0 };

/// Something about the server that an operator should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFinding {
    /// How bad it is.
    pub severity: Severity,
    /// What was found.
    pub what: String,
    /// What to do about it.
    pub what_to_do: String,
}

/// How bad a [`ServerFinding`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Jobs can't be kept or called like this: the start is refused.
    Error,
    /// It works, and promises less than was configured; or it doesn't work now, and may again without another setting.
    Warning,
}

/// What is wrong with the server that `facts` describe, when `durability` is configured; empty when
/// nothing is.
pub fn findings(facts: &ServerInfo, durability: Durability) -> Vec<ServerFinding> {
    [
        too_old(facts),
        cluster(facts),
        replica(facts),
        evicting(facts),
        not_writing(facts),
        refusing(facts),
        less_durable(facts, durability),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn too_old(facts: &ServerInfo) -> Option<ServerFinding> {
    (facts.version < OLDEST).then(|| {
        error(format!("this is {}, older than Redis {OLDEST}", facts.product), "use Redis 6.2 or newer, or Valkey")
    })
}

fn cluster(facts: &ServerInfo) -> Option<ServerFinding> {
    (facts.is_cluster && !facts.is_reached_as_cluster).then(|| {
        error(
            "this is a node of a Redis Cluster, which has only some of the keys".to_owned(),
            "use redis.url = redis+cluster://host1,host2",
        )
    })
}

fn replica(facts: &ServerInfo) -> Option<ServerFinding> {
    (!facts.is_master).then(|| {
        error(
            "this is a replica, which accepts no writes".to_owned(),
            "point redis.url at the master, or at the Sentinels: redis+sentinel://host1,host2/name",
        )
    })
}

fn evicting(facts: &ServerInfo) -> Option<ServerFinding> {
    (facts.eviction != "noeviction").then(|| {
        error(
            format!("maxmemory-policy is `{}`: Redis may evict accepted jobs when its memory is full", facts.eviction),
            "set `maxmemory-policy noeviction` in Redis",
        )
    })
}

fn not_writing(facts: &ServerInfo) -> Option<ServerFinding> {
    (!facts.append_only_works).then(|| {
        error(
            "the last write to the append-only file failed, so Redis refuses writes".to_owned(),
            "check the log of Redis; the disk may be full",
        )
    })
}

/// A role starts all the same, and isn't ready: it may be over soon.
fn refusing(facts: &ServerInfo) -> Option<ServerFinding> {
    let (why, what_to_do) = match facts.refuses_writes.as_deref()? {
        "NOREPLICAS" => (
            "fewer replicas follow than `min-replicas-to-write`",
            "check `INFO replication`; connect replicas, or lower that setting of Redis",
        ),
        "MISCONF" if facts.append_only_works => {
            ("its last snapshot couldn't be written", "check the log of Redis; the disk may be full")
        }
        "CLUSTERDOWN" => ("the Redis Cluster is down", "check `CLUSTER INFO`: each slot needs a node that serves it"),
        // The append-only file and a replica are reported in other words.
        _ => return None,
    };
    let (severity, what) = (Severity::Warning, format!("Redis refuses writes now: {why}"));
    Some(ServerFinding { severity, what, what_to_do: what_to_do.to_owned() })
}

fn less_durable(facts: &ServerInfo, durability: Durability) -> Option<ServerFinding> {
    let (severity, shortfall) = match effective(durability, facts) {
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
