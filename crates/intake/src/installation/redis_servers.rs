//! Redis, for reports on its servers.

use dripfeed_store::{Durability, Store};

/// How Redis is reached, and what is configured for it.
#[derive(Clone)]
pub struct RedisServers {
    store: Store,
    configured: Durability,
}

impl RedisServers {
    /// With the configured durability class.
    #[must_use]
    pub const fn new(store: Store, configured: Durability) -> Self {
        Self { store, configured }
    }

    pub(crate) const fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) const fn configured(&self) -> Durability {
        self.configured
    }
}
