//! What every verb of a bucket needs: Redis, the key names, the settings.

use std::sync::Arc;

use dripfeed_limit::ScopeKeys;
use dripfeed_store::Store;

use crate::in_force::{InForce, Known};
use crate::keys::Keys;
use crate::limits::BucketLimits;
use crate::settings::{BucketSettings, Kind};

pub(crate) struct Core {
    pub(crate) store: Store,
    pub(crate) keys: Keys,
    pub(crate) kind: Kind,
    pub(crate) scopes: ScopeKeys,
    pub(crate) known: Known,
}

impl Core {
    pub(crate) fn new(store: Store, settings: BucketSettings) -> Self {
        let kind = settings.kind;
        let keys = Keys::new(store.prefix(), &settings.name, settings.key.as_deref(), kind);
        let scopes = ScopeKeys::new(store.prefix(), settings.name.as_str());
        let store = store.for_key(&keys.jobs());
        let known = Known::new(settings, keys.pace_tiers());
        Self { store, keys, kind, scopes, known }
    }

    /// As configured.
    pub(crate) fn settings(&self) -> Arc<BucketSettings> {
        self.known.now().configured.clone()
    }

    pub(crate) fn in_force(&self) -> Arc<InForce> {
        self.known.now()
    }

    pub(crate) fn reconfigure(&self, settings: BucketSettings) {
        let settings = Arc::new(settings);
        self.known.set(|known| known.configured(settings.clone()));
    }

    pub(crate) fn limit_by(&self, limits: &BucketLimits) {
        self.known.set(|known| known.limited(limits.clone()));
    }
}
