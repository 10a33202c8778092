//! Decides when a connection must be replaced.

use std::{
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    time::Duration,
};

use tokio::time::Instant;

use crate::error::{ErrorKind, StoreError};

/// This many calls in a row without a reply, and the connection counts as lost.
const SILENT_CALLS: u32 = 3;
/// A connection that lasted for this long was a good one. A server that is read-only right after
/// connecting stays so for now: renewing at once again would only make a storm of connections.
pub(super) const SETTLED: Duration = Duration::from_secs(1);

/// What is known of a connection.
pub(super) struct Health {
    pub(super) since: Instant,
    pub(super) lost: AtomicBool,
    pub(super) silent_calls: AtomicU32,
    /// Whether connecting again may lead to another server.
    pub(super) may_be_replaced: bool,
}

impl Health {
    pub(super) fn is_ruined_by(&self, error: &StoreError) -> bool {
        match error.kind() {
            ErrorKind::Unreachable => true,
            ErrorKind::Timeout => self.silent_calls.load(Ordering::Relaxed) >= SILENT_CALLS,
            // Its replicas may follow another master by now, which nobody could report to it.
            ErrorKind::NotReplicated => self.may_be_replaced && self.since.elapsed() >= SETTLED,
            _ => match error.code() {
                Some("READONLY") => self.since.elapsed() >= SETTLED,
                Some("NOREPLICAS") => self.may_be_replaced && self.since.elapsed() >= SETTLED,
                _ => false,
            },
        }
    }
}
