//! What every verb of a bucket needs: Redis, the key names, the settings, and how a script is run with the effective
//! settings.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use dripfeed_limit::ScopeKeys;
use dripfeed_store::{Call, Store};
use redis::Value;

use crate::error::BucketError;
use crate::script::keys::Keys;
use crate::script::reply::Reply;
use crate::settings::effective_settings::{EffectiveSettings, SettingsCache};
use crate::settings::limits::BucketLimits;
use crate::settings::overrides::Overrides;
use crate::settings::{BucketSettings, Kind};

/// Who asks again so often in vain asks while settings change without end.
const TRIES: usize = 10;

/// When the answer of a script counts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WaitFor {
    Reply,
    /// Once what was written is as safe as the configured durability says.
    Durability,
}

pub(crate) struct RedisBucket {
    pub(crate) store: Store,
    pub(crate) keys: Keys,
    pub(crate) kind: Kind,
    pub(crate) scopes: ScopeKeys,
    pub(crate) settings_cache: SettingsCache,
    /// Where the next run of retention goes on in the keyed jobs.
    pub(crate) keyed_looked_at: AtomicU64,
}

impl RedisBucket {
    pub(crate) fn new(store: Store, settings: BucketSettings) -> Self {
        let kind = settings.kind;
        let keys = Keys::new(store.prefix(), &settings.name, settings.key.as_deref(), kind);
        let scopes = ScopeKeys::new(store.prefix(), settings.name.as_str(), store.salt().clone());
        let store = store.for_key(&keys.jobs());
        let settings_cache = SettingsCache::new(settings, keys.pace_tiers());
        Self { store, keys, kind, scopes, settings_cache, keyed_looked_at: AtomicU64::new(0) }
    }

    /// As configured.
    pub(crate) fn settings(&self) -> Arc<BucketSettings> {
        self.settings_cache.now().configured.clone()
    }

    pub(crate) fn effective_settings(&self) -> Arc<EffectiveSettings> {
        self.settings_cache.now()
    }

    pub(crate) fn reconfigure(&self, settings: BucketSettings) {
        let settings = Arc::new(settings);
        self.settings_cache.set(|before| before.configured(settings.clone()));
    }

    pub(crate) fn limit_by(&self, limits: &BucketLimits) {
        self.settings_cache.set(|before| before.limited(limits.clone()));
    }

    /// Runs a script with the effective settings, and again when it answers that something was changed.
    pub(crate) async fn run_with_settings(
        &self,
        script: &'static str,
        wait_for: WaitFor,
        call: impl Fn(&EffectiveSettings) -> Call<'static>,
    ) -> Result<(Arc<EffectiveSettings>, Reply), BucketError> {
        for _ in 0..TRIES {
            let effective = self.effective_settings();
            let call = call(&effective);
            let reply: Value = match wait_for {
                WaitFor::Reply => self.store.run(&call).await?,
                WaitFor::Durability => self.store.run_durably(&call).await?,
            };
            if let Some(reply) = self.learn_overrides(Reply::new(script, reply)?)? {
                return Ok((effective, reply));
            }
        }
        Err(BucketError::Changing)
    }

    /// The answer of a script that was run with the effective settings. None: something was changed, and is known now.
    pub(crate) fn learn_overrides(&self, mut reply: Reply) -> Result<Option<Reply>, BucketError> {
        if !reply.begins_with("changed") {
            return Ok(Some(reply));
        }
        reply.text()?;
        let fields = reply.array()?.fields()?;
        let version = fields.iter().find(|(name, _)| name == "version").map(|(_, version)| version.clone());
        let (version, overrides) = (version.unwrap_or_default(), Overrides::read(&fields));
        self.settings_cache.set(|before| before.changed(version.clone(), overrides.clone()));
        Ok(None)
    }
}
