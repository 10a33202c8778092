//! Reads the state of the Redis servers, for reports.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use dripfeed_bucket::know_scripts_of_processors;
use dripfeed_store::{Durability, ServerInfo, SlowCommand, Store, StoreError};

/// Maximum age of the cached state: INFO is expensive, and every caller may request it.
const MAX_AGE: Duration = Duration::from_secs(1);

/// The store, with a cache of its servers' state. Cheap to clone.
#[derive(Clone)]
pub struct RedisServers {
    store: Store,
    configured: Durability,
    latest: Arc<ArcSwapOption<CachedServers>>,
}

struct CachedServers {
    at: Instant,
    servers: Vec<FoundServer>,
}

/// A server that accepts writes, and its state.
#[derive(Clone)]
pub(crate) struct FoundServer {
    pub(crate) address: String,
    pub(crate) info: ServerInfo,
    /// `None` if the Redis ACL denies the query.
    pub(crate) slow: Option<Vec<SlowCommand>>,
}

impl RedisServers {
    /// Creates the cache. `configured`: the configured durability class.
    #[must_use]
    pub fn new(store: Store, configured: Durability) -> Self {
        Self { store, configured, latest: Arc::default() }
    }

    /// Returns the servers that accept writes, as they were at most a second ago.
    pub(crate) async fn found(&self) -> Result<Vec<FoundServer>, StoreError> {
        if let Some(answers) = self.latest.load().as_ref().filter(|answers| answers.at.elapsed() < MAX_AGE) {
            return Ok(answers.servers.clone());
        }
        let at = Instant::now();
        let servers = self.ask().await?;
        self.latest.store(Some(Arc::new(CachedServers { at, servers: servers.clone() })));
        Ok(servers)
    }

    async fn ask(&self) -> Result<Vec<FoundServer>, StoreError> {
        know_scripts_of_processors();
        let mut servers = Vec::new();
        for master in self.store.masters() {
            let info = ServerInfo::gather(&master, self.configured).await?;
            let slow = SlowCommand::latest(&master).await?;
            servers.push(FoundServer { address: master.address().to_string(), info, slow });
        }
        Ok(servers)
    }

    pub(crate) const fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) const fn configured(&self) -> Durability {
        self.configured
    }
}
