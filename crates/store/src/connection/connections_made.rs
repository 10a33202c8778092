//! How many connections a process has made. What a server has confirmed may be lost when it is connected to again: it
//! comes back from its last snapshot, or another one has taken over that had fallen behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Of one store, to all of its servers. Cheap to clone; clones are one.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionsMade(Arc<AtomicU64>);

impl ConnectionsMade {
    /// Before the connection is used.
    pub(super) fn one_more(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn number(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
