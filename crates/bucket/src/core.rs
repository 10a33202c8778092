//! What every verb of a bucket needs: Redis, the key names, the settings.

use std::sync::Arc;

use arc_swap::ArcSwap;
use dripfeed_limit::{Policies, ScopeKeys};
use dripfeed_store::Store;

use crate::keys::Keys;
use crate::settings::{BucketSettings, Kind};

pub(crate) struct Core {
    pub(crate) store: Store,
    pub(crate) keys: Keys,
    pub(crate) kind: Kind,
    pub(crate) scopes: ScopeKeys,
    /// Who may submit how much.
    pub(crate) limits: ArcSwap<Policies>,
    settings: ArcSwap<BucketSettings>,
}

impl Core {
    pub(crate) fn new(store: Store, settings: BucketSettings) -> Self {
        let kind = settings.kind;
        let keys = Keys::new(store.prefix(), &settings.name, settings.key.as_deref(), kind);
        let scopes = ScopeKeys::new(store.prefix(), settings.name.as_str());
        let (limits, settings) = (ArcSwap::default(), ArcSwap::from_pointee(settings));
        Self { store, keys, kind, scopes, limits, settings }
    }

    pub(crate) fn settings(&self) -> Arc<BucketSettings> {
        self.settings.load_full()
    }

    pub(crate) fn reconfigure(&self, settings: BucketSettings) {
        self.settings.store(Arc::new(settings));
    }
}
