//! Redis, for reports on its servers.

use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use dripfeed_bucket::know_scripts_of_processors;
use dripfeed_store::{Durability, ServerInfo, SlowCommand, Store, StoreError};

/// What servers answered is shown for this long: INFO is a long answer, and everybody may ask for it.
const KEPT: Duration = Duration::from_secs(1);

/// How Redis is reached, and what is configured for it. Cheap to clone.
#[derive(Clone)]
pub struct RedisServers {
    store: Store,
    configured: Durability,
    latest: Arc<ArcSwapOption<Answers>>,
}

struct Answers {
    at: Instant,
    servers: Vec<FoundServer>,
}

/// A server, and what it said of itself.
#[derive(Clone)]
pub(crate) struct FoundServer {
    pub(crate) address: String,
    pub(crate) info: ServerInfo,
    /// None: Redis denies the question.
    pub(crate) slow: Option<Vec<SlowCommand>>,
}

impl RedisServers {
    /// With the configured durability class.
    #[must_use]
    pub fn new(store: Store, configured: Durability) -> Self {
        Self { store, configured, latest: Arc::default() }
    }

    /// Those that take writes, as they were at most a second ago.
    pub(crate) async fn found(&self) -> Result<Vec<FoundServer>, StoreError> {
        if let Some(answers) = self.latest.load().as_ref().filter(|answers| answers.at.elapsed() < KEPT) {
            return Ok(answers.servers.clone());
        }
        let at = Instant::now();
        let servers = self.ask().await?;
        self.latest.store(Some(Arc::new(Answers { at, servers: servers.clone() })));
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
