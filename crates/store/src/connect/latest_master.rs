//! The latest master that Sentinel named, shared by all connections of a client.
//!
//! A master that hangs keeps its connections open. Without this, each of them would notice a failover only by timeouts.

use std::sync::Arc;

use tokio::sync::watch;

use crate::url::HostPort;

/// A master, as named by a Sentinel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NamedMaster {
    pub(crate) at: HostPort,
    /// The epoch of the failover that promoted it.
    pub(crate) epoch: u64,
}

/// Clones share the master.
#[derive(Debug, Clone, Default)]
pub(crate) struct LatestMaster(Arc<watch::Sender<Option<NamedMaster>>>);

impl LatestMaster {
    /// Notes that a connection to `master` was opened. Ignores a master of an earlier epoch: its Sentinel doesn't know
    /// of a failover yet, or the Sentinels were reset, in which case each connection notices by its timeouts.
    pub(crate) fn note(&self, master: &NamedMaster) {
        self.0.send_if_modified(|latest| {
            let is_later = latest.as_ref().is_none_or(|latest| latest.epoch < master.epoch);
            if is_later {
                *latest = Some(master.clone());
            }
            is_later
        });
    }

    pub(crate) fn changes(&self) -> watch::Receiver<Option<NamedMaster>> {
        self.0.subscribe()
    }
}

impl NamedMaster {
    /// Returns whether `latest` has replaced this master.
    pub(crate) fn is_replaced_by(&self, latest: &Self) -> bool {
        latest.epoch > self.epoch && latest.at != self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn master(port: u16, epoch: u64) -> NamedMaster {
        NamedMaster { at: HostPort { host: "redis".to_owned(), port }, epoch }
    }

    #[test]
    fn an_earlier_election_replaces_nothing() {
        let latest = LatestMaster::default();
        let changes = latest.changes();
        for (named, known) in [(master(1, 3), master(1, 3)), (master(2, 4), master(2, 4)), (master(1, 3), master(2, 4))]
        {
            latest.note(&named);
            assert_eq!(changes.borrow().as_ref(), Some(&known));
        }
        assert!(master(1, 3).is_replaced_by(&master(2, 4)));
        assert!(!master(2, 4).is_replaced_by(&master(1, 3)));
        assert!(!master(1, 3).is_replaced_by(&master(1, 4)), "it was elected again");
    }
}
