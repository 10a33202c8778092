//! Determines which replicas must confirm a write, so that the write survives if any of them becomes the master.
//!
//! All connected replicas must confirm. A replica that disconnected may have been promoted, and then its old master and
//! the replicas still connected to that confirm writes that will be lost. So writes fail for a while, until we would
//! know of a new master.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Weak},
    time::Duration,
};

use parking_lot::Mutex;
use redis::{Value, from_redis_value};
use tokio::time::Instant;

use crate::url::HostPort;

/// Longer than Sentinel or Cluster take to report a promotion.
const PROMOTION_TIMEOUT: Duration = Duration::from_secs(5);

/// The replicas of each server, shared by all connections to it.
#[derive(Debug, Default)]
pub(crate) struct ReplicasByServer(Mutex<HashMap<Option<HostPort>, Weak<RedisReplicas>>>);

impl ReplicasByServer {
    /// Returns the replicas of a server; `None` without Sentinel, as there is only one server then. Dropped with the
    /// last reference.
    pub(crate) fn of(&self, server: Option<&HostPort>) -> Arc<RedisReplicas> {
        let mut servers = self.0.lock();
        servers.retain(|_, replicas| replicas.strong_count() > 0);
        let known = servers.get(&server.cloned()).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let replicas = Arc::default();
            servers.insert(server.cloned(), Arc::downgrade(&replicas));
            replicas
        })
    }
}

/// The replicas of one server.
#[derive(Debug, Default)]
pub(crate) struct RedisReplicas(Mutex<FollowState>);

#[derive(Debug, Default)]
struct FollowState {
    known: BTreeSet<Replica>,
    /// Since when a known replica is missing.
    missing_since: Option<Instant>,
    seen: Option<Instant>,
}

/// The host and port of a replica.
type Replica = (String, String);

impl RedisReplicas {
    /// Returns how many replicas must confirm the next write.
    pub(crate) fn needed(&self) -> u32 {
        self.0.lock().needed()
    }

    /// Returns whether a known replica is missing, and may have been promoted.
    pub(crate) fn is_one_missing(&self) -> bool {
        self.0.lock().missing_since.is_some()
    }

    /// Updates the replicas by a reply to ROLE. Returns how many must confirm the writes before it, or `None` if a
    /// replica is missing, so that confirmations of the others aren't enough.
    pub(crate) fn see(&self, role: &Value) -> Option<u32> {
        let (now, mut state) = (parse_role(role), self.0.lock());
        state.seen = Some(Instant::now());
        let is_one_missing = !state.known.is_subset(&now);
        if is_one_missing && state.missing_since.get_or_insert_with(Instant::now).elapsed() < PROMOTION_TIMEOUT {
            state.known.extend(now);
            return None;
        }
        state.known = now;
        state.missing_since = None;
        Some(state.needed())
    }

    pub(crate) fn were_seen_within(&self, time: Duration) -> bool {
        self.0.lock().seen.is_some_and(|seen| seen.elapsed() < time)
    }
}

impl FollowState {
    fn needed(&self) -> u32 {
        u32::try_from(self.known.len()).unwrap_or(u32::MAX).max(1)
    }
}

/// Parses a reply to ROLE: `master`, the offset, and the connected replicas, each with host, port and offset.
fn parse_role(role: &Value) -> BTreeSet<Replica> {
    let Value::Array(parts) = role else { return BTreeSet::new() };
    let [_, _, Value::Array(replicas)] = &parts[..] else { return BTreeSet::new() };
    let replica = |replica: &Value| from_redis_value::<(String, String, Value)>(replica.clone()).ok();
    replicas.iter().filter_map(replica).map(|(host, port, _)| (host, port)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(ports: &[&str]) -> Value {
        let text = |text: &str| Value::BulkString(text.as_bytes().to_vec());
        let replica = |port: &&str| Value::Array(vec![text("127.0.0.1"), text(port), text("70")]);
        let replicas = ports.iter().map(replica).collect();
        Value::Array(vec![text("master"), Value::Int(70), Value::Array(replicas)])
    }

    #[tokio::test]
    async fn a_replica_that_disconnected_counts_as_missing_for_a_while() {
        let replicas = RedisReplicas::default();
        assert_eq!(replicas.needed(), 1);
        assert_eq!(replicas.see(&role(&["1", "2"])), Some(2));
        assert_eq!((replicas.see(&role(&["1"])), replicas.is_one_missing()), (None, true));
        assert_eq!((replicas.see(&role(&["1", "2"])), replicas.is_one_missing()), (Some(2), false));
        replicas.see(&role(&["1"]));
        replicas.0.lock().missing_since = Instant::now().checked_sub(PROMOTION_TIMEOUT);
        assert_eq!((replicas.see(&role(&["1"])), replicas.is_one_missing()), (Some(1), false));
        assert_eq!(replicas.see(&role(&["1", "2", "3"])), Some(3));
    }

    #[tokio::test]
    async fn another_replica_does_not_replace_a_disconnected_one() {
        let replicas = RedisReplicas::default();
        assert_eq!(replicas.see(&role(&["1"])), Some(1));
        assert_eq!(replicas.see(&role(&["2"])), None);
        assert_eq!(replicas.see(&role(&["1", "2"])), Some(2));
    }

    #[test]
    fn a_replica_has_no_followers() {
        let replica = Value::Array(vec![Value::SimpleString("slave".to_owned())]);
        assert_eq!(parse_role(&replica), BTreeSet::new());
    }
}
