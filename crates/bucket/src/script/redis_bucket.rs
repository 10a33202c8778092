//! What every verb of a bucket needs: Redis, the key names, the settings, and how a script is asked with what is in
//! force.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use dripfeed_limit::ScopeKeys;
use dripfeed_store::{Call, Store};
use redis::Value;

use crate::error::BucketError;
use crate::script::keys::Keys;
use crate::script::reply::Reply;
use crate::settings::effective_settings::{InForce, Known};
use crate::settings::limits::BucketLimits;
use crate::settings::overrides::Changes;
use crate::settings::{BucketSettings, Kind};

/// Who asks again so often in vain asks while settings change without end.
const TRIES: usize = 10;

/// When the answer of a script counts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Answered {
    AtOnce,
    /// Once what was written is as safe as the configured durability says.
    Durably,
}

pub(crate) struct RedisBucket {
    pub(crate) store: Store,
    pub(crate) keys: Keys,
    pub(crate) kind: Kind,
    pub(crate) scopes: ScopeKeys,
    pub(crate) known: Known,
    /// Where the next run of retention goes on in the keyed jobs.
    pub(crate) keyed_looked_at: AtomicU64,
}

impl RedisBucket {
    pub(crate) fn new(store: Store, settings: BucketSettings) -> Self {
        let kind = settings.kind;
        let keys = Keys::new(store.prefix(), &settings.name, settings.key.as_deref(), kind);
        let scopes = ScopeKeys::new(store.prefix(), settings.name.as_str(), store.salt().clone());
        let store = store.for_key(&keys.jobs());
        let known = Known::new(settings, keys.pace_tiers());
        Self { store, keys, kind, scopes, known, keyed_looked_at: AtomicU64::new(0) }
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

    /// Asks a script with what is in force, and again when it answers that something was changed.
    pub(crate) async fn ask_in_force(
        &self,
        script: &'static str,
        answered: Answered,
        call: impl Fn(&InForce) -> Call<'static>,
    ) -> Result<(Arc<InForce>, Reply), BucketError> {
        for _ in 0..TRIES {
            let force = self.in_force();
            let call = call(&force);
            let reply: Value = match answered {
                Answered::AtOnce => self.store.run(&call).await?,
                Answered::Durably => self.store.run_durably(&call).await?,
            };
            if let Some(reply) = self.heed(Reply::new(script, reply)?)? {
                return Ok((force, reply));
            }
        }
        Err(BucketError::Changing)
    }

    /// The answer of a script that was asked with what is in force. None: something was changed, and is known now.
    pub(crate) fn heed(&self, mut reply: Reply) -> Result<Option<Reply>, BucketError> {
        if !reply.begins_with("changed") {
            return Ok(Some(reply));
        }
        reply.text()?;
        let fields = reply.array()?.fields()?;
        let version = fields.iter().find(|(name, _)| name == "version").map(|(_, version)| version.clone());
        let (version, changes) = (version.unwrap_or_default(), Changes::read(&fields));
        self.known.set(|known| known.changed(version.clone(), changes.clone()));
        Ok(None)
    }
}
