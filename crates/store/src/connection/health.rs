//! Decides when a connection must be replaced.

use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    time::Duration,
};

use tokio::time::Instant;

use crate::error::{ErrorKind, StoreError};

/// After this many calls in a row without a reply, a connection is considered lost.
const MAX_SILENT_CALLS: u32 = 3;
/// The age from which a connection is considered stable. A younger one isn't replaced for READONLY: a server that is
/// read-only right after connecting stays so for now, and replacing it at once would cause a storm of connections.
pub(super) const SETTLED: Duration = Duration::from_secs(1);

/// The state of a connection.
pub(super) struct Health {
    pub(super) since: Instant,
    pub(super) lost: AtomicBool,
    pub(super) silent_calls: AtomicU32,
    /// Whether reconnecting may lead to another server, as with Sentinel.
    pub(super) may_be_replaced: bool,
}

impl Health {
    pub(super) fn is_broken_by(&self, error: &StoreError) -> bool {
        match error.kind() {
            ErrorKind::Unreachable => true,
            ErrorKind::Timeout => self.silent_calls.load(Ordering::Relaxed) >= MAX_SILENT_CALLS,
            // The replicas may have moved to another master, of which a partitioned master doesn't know.
            ErrorKind::NotReplicated => self.may_be_replaced && self.since.elapsed() >= SETTLED,
            _ => match error.code() {
                Some("READONLY") => self.since.elapsed() >= SETTLED,
                Some("NOREPLICAS") => self.may_be_replaced && self.since.elapsed() >= SETTLED,
                _ => false,
            },
        }
    }
}
