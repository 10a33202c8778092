//! Counts connections to Redis. After a reconnect, writes that the server had confirmed may be lost: it was restarted
//! from a snapshot, or a replica that had fallen behind has taken over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The number of connections that a store has made, to all of its servers. Cheap to clone; clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionsMade(Arc<AtomicU64>);

impl ConnectionsMade {
    /// Counts a connection. Called before the connection is used.
    pub(super) fn one_more(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn number(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
