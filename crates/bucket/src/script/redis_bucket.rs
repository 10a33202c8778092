//! What every verb of a bucket needs: the store, the key names, and the effective settings that scripts run with.
//!
//! Effective settings are the configured ones, overridden by changes at run time, which are stored in Redis with a
//! version. A script gets the settings of its caller with the version that they include. If the version in Redis
//! differs, the script does nothing and returns the changes, and the caller runs it again. So a change applies to all
//! replicas as soon as it is written, without polling.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use bytes::Bytes;
use dripfeed_limit::{KeyIndex, Plan, ScopeKeys};
use dripfeed_store::{Call, Store};
use parking_lot::Mutex;
use redis::Value;

use crate::deliver::permit;
use crate::ended::expire::look::ExpiryLook;
use crate::error::BucketError;
use crate::pace;
use crate::script::constants::SMALL_BYTES;
use crate::script::keys::Keys;
use crate::script::reply::Reply;
use crate::settings::fair::FairBy;
use crate::settings::limits::BucketLimits;
use crate::settings::overrides::Overrides;
use crate::settings::{BucketSettings, Kind};

/// Who asks again so often in vain asks while settings change without end.
pub(crate) const TRIES: usize = 10;

/// When the answer of a script counts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WaitFor {
    Reply,
    /// Once what was written is as safe as the configured durability says.
    Durability,
}

#[derive(Clone, Debug)]
pub(crate) struct EffectiveSettings {
    /// Version of the run-time changes; empty: none yet.
    pub(crate) version: String,
    pub(crate) overrides: Overrides,
    configured: Arc<BucketSettings>,
    /// The configured settings with the run-time changes applied.
    pub(crate) settings: Arc<BucketSettings>,
    /// Rate limit of the calls. None: as fast as the upstream answers.
    pub(crate) pace: Option<Plan>,
    /// Rate and concurrency limits per caller (limits_of.lua). Empty: none.
    pub(crate) bounds: String,
    /// [`Fair::weights_of_turns`](crate::settings::fair::Fair::weights_of_turns)
    pub(crate) weights: String,
    /// [`BucketSettings::packed_ends`]
    pub(crate) ends: String,
    /// [`BucketSettings::share_of_one`]
    pub(crate) share_of_one: [String; 2],
    /// Whether those that wait take turns.
    pub(crate) takes_turns: bool,
    /// Whether calls are granted ahead of their time, where these aren't late (permit.rs).
    is_granted_ahead: bool,
    /// How late calls may begin without being charged for it, where they are paced (permit.rs).
    pub(crate) prompt: Duration,
    /// Where the state of the pace is.
    pace_key: String,
    configured_limits: BucketLimits,
    /// The configured ones, or others that were set at run time.
    pub(crate) limits: BucketLimits,
    /// Whether there are any of them.
    pub(crate) has_limits: bool,
}

/// Matches no stored version, so the first call returns the changes and shows whether the bucket is open.
const UNKNOWN_VERSION: &str = "-";

/// What is in force at one moment.
#[derive(Clone, Debug)]
pub struct InForce {
    pub(crate) effective: Arc<EffectiveSettings>,
    pub(crate) is_paused: bool,
}

impl EffectiveSettings {
    fn new(configured: BucketSettings, pace_key: String, is_defined: bool) -> Self {
        let configured = Arc::new(configured);
        let effective = Self {
            version: if is_defined { UNKNOWN_VERSION.to_owned() } else { String::new() },
            overrides: Overrides::default(),
            settings: Arc::clone(&configured),
            configured,
            pace: None,
            bounds: String::new(),
            weights: String::new(),
            ends: String::new(),
            share_of_one: [String::new(), String::new()],
            takes_turns: false,
            is_granted_ahead: false,
            prompt: permit::PROMPT,
            pace_key,
            configured_limits: BucketLimits::default(),
            limits: BucketLimits::default(),
            has_limits: false,
        };
        effective.applied()
    }

    /// All that follows from what is configured and what was changed is worked out here.
    fn applied(self) -> Self {
        let (mut settings, mut limits) = (Arc::clone(&self.configured), self.configured_limits.clone());
        // Most buckets have what is configured, and once.
        if !self.overrides.is_empty() {
            let (changed, changed_limits) = self.overrides.over(&settings, &limits);
            (settings, limits) = (Arc::new(changed), changed_limits);
        }
        let pace = pace::plan(&settings.leak, self.pace_key.clone());
        let (bounds, weights) = (settings.fair.packed_bounds(), settings.fair.weights_of_turns());
        let (ends, share_of_one) = (settings.packed_ends(), settings.share_of_one());
        let takes_turns = settings.kind == Kind::Stream && settings.fair.by != FairBy::Off;
        let has_limits = !limits.document().is_empty();
        let is_granted_ahead = pace::is_granted_ahead(&settings.leak) && !settings.fair.has_rate();
        let prompt = if settings.fair.has_rate() { permit::PROMPT_OF_CALLERS } else { permit::PROMPT };
        let settled = Self { settings, pace, bounds, weights, ends, share_of_one, takes_turns, ..self };
        Self { limits, has_limits, is_granted_ahead, prompt, ..settled }
    }

    /// Whether calls may begin only so long after they were granted.
    pub(crate) fn is_paced(&self) -> bool {
        self.pace.is_some() || !self.bounds.is_empty() && self.settings.fair.has_rate()
    }

    /// How long before their time calls are granted that are made within `valid` (permit.rs).
    pub(crate) fn granted_ahead(&self, valid: Duration) -> Duration {
        if self.is_granted_ahead { permit::ahead(valid) } else { Duration::ZERO }
    }

    /// Whether no job is refused by a limit or a share, but only for lack of room.
    pub(crate) fn is_judged_by_room(&self) -> bool {
        self.settings.max_share.is_none() && !self.has_limits
    }

    /// `keys`, and behind them where the pace has its state; and the pace as a script takes it. Empty: no pace.
    pub(crate) fn pack_pace(&self, keys: Vec<String>) -> (Vec<String>, Vec<u8>) {
        let Some(pace) = &self.pace else { return (keys, Vec::new()) };
        let mut index = KeyIndex::after(keys);
        let packed = pace.pack(&mut index, pace::now_us());
        (index.into_keys(), packed)
    }
}

pub(crate) struct RedisBucket {
    pub(crate) store: Store,
    pub(crate) keys: Keys,
    pub(crate) kind: Kind,
    pub(crate) scopes: ScopeKeys,
    /// Of a bucket created over the API.
    pub(crate) incarnation: Option<u64>,
    /// Whether the latest batch was refused, as there was no room for any of it.
    pub(crate) was_full: AtomicBool,
    /// As far as this process knows.
    effective: ArcSwap<EffectiveSettings>,
    /// Where the next run of retention goes on in the keyed jobs.
    pub(crate) keyed_looked_at: AtomicU64,
    /// Where its next run goes on among the jobs.
    pub(crate) expiry_look: Mutex<ExpiryLook>,
    /// What the next sample for the history goes on from where Redis has none; empty: nothing.
    pub(crate) last_look: Mutex<String>,
    /// The state of the pace that a take of this process last wrote; empty: none yet. Outlives memberships, and what
    /// Redis forgets (settling.lua).
    pub(crate) known_pace: Mutex<Bytes>,
    /// Scripts of this process that change it.
    changes: AtomicU64,
}

impl RedisBucket {
    pub(crate) fn new(store: Store, settings: BucketSettings, incarnation: Option<u64>) -> Self {
        let kind = settings.kind;
        let keys = Keys::new(store.prefix(), &settings.name, settings.key.as_deref(), kind);
        let scopes = ScopeKeys::new(store.prefix(), settings.name.as_str(), store.salt().clone());
        let scopes = incarnation.map_or(scopes.clone(), |number| scopes.of_incarnation(number));
        let store = store.for_key(&keys.jobs());
        let effective =
            ArcSwap::from_pointee(EffectiveSettings::new(settings, keys.pace_tiers(), incarnation.is_some()));
        let (keyed_looked_at, changes) = (AtomicU64::new(0), AtomicU64::new(0));
        let (expiry_look, last_look, known_pace) = (Mutex::default(), Mutex::default(), Mutex::default());
        Self {
            store,
            keys,
            kind,
            scopes,
            incarnation,
            was_full: AtomicBool::new(false),
            effective,
            keyed_looked_at,
            expiry_look,
            last_look,
            known_pace,
            changes,
        }
    }

    /// Runs a script that reads jobs or records for somebody, and whose answer begins with their bytes: these come
    /// first in what is returned, too. If they are many, Redis is left to small requests afterwards.
    pub(crate) async fn read(
        &self,
        name: &'static str,
        call: &Call<'_>,
        wait_for: WaitFor,
    ) -> Result<(usize, Reply), BucketError> {
        let begun = Instant::now();
        let mut reply = Reply::new(name, self.run(call, wait_for).await?)?;
        let took = begun.elapsed();
        let bytes = usize::try_from(reply.count()?).unwrap_or(usize::MAX);
        if bytes > SMALL_BYTES {
            self.store.rest_after_large(bytes, took).await;
        }
        Ok((bytes, reply))
    }

    async fn run(&self, call: &Call<'_>, wait_for: WaitFor) -> Result<Value, BucketError> {
        self.in_own_kind(|| self.run_once(call, wait_for)).await
    }

    /// Does what reads the jobs before it writes anything, and once more if an empty key of the other kind was in its
    /// way.
    pub(crate) async fn in_own_kind<T, F>(&self, ask: impl Fn() -> F + Send) -> Result<T, BucketError>
    where
        F: Future<Output = Result<T, BucketError>> + Send,
    {
        match ask().await {
            Err(error) => {
                self.make_way(error).await?;
                ask().await
            }
            answer => answer,
        }
    }

    async fn run_once(&self, call: &Call<'_>, wait_for: WaitFor) -> Result<Value, BucketError> {
        Ok(match wait_for {
            WaitFor::Reply => self.store.run(call).await?,
            WaitFor::Durability => {
                self.changes.fetch_add(1, Ordering::Relaxed);
                self.store.run_durably(call).await?
            }
        })
    }

    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// As configured.
    pub(crate) fn settings(&self) -> Arc<BucketSettings> {
        self.effective.load().configured.clone()
    }

    pub(crate) fn configured_limits(&self) -> BucketLimits {
        self.effective.load().configured_limits.clone()
    }

    pub(crate) fn effective_settings(&self) -> Arc<EffectiveSettings> {
        self.effective.load_full()
    }

    /// Whether those that wait take turns, as far as this process knows.
    pub(crate) fn takes_turns(&self) -> bool {
        self.effective.load().takes_turns
    }

    pub(crate) fn reconfigure(&self, settings: BucketSettings) {
        let configured = Arc::new(settings);
        self.set(|before| EffectiveSettings { configured: configured.clone(), ..before });
    }

    pub(crate) fn limit_by(&self, limits: &BucketLimits) {
        self.set(|before| EffectiveSettings { configured_limits: limits.clone(), ..before });
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
            let reply = self.run(&call, wait_for).await?;
            if let Some(reply) = self.learn_overrides(Reply::new(script, reply)?)? {
                return Ok((effective, reply));
            }
        }
        Err(BucketError::Changing)
    }

    /// The answer of a script that was run with the effective settings. None: something was changed, and is known now.
    pub(crate) fn learn_overrides(&self, reply: Reply) -> Result<Option<Reply>, BucketError> {
        if !reply.begins_with("changed") {
            return Ok(Some(reply));
        }
        self.learn(reply)?;
        Ok(None)
    }

    /// `changed`, and all that is in `control`.
    pub(crate) fn learn(&self, mut reply: Reply) -> Result<InForce, BucketError> {
        reply.text()?;
        let fields = reply.array()?.fields()?;
        self.check_incarnation(&fields)?;
        let value = |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
        let (version, is_paused) = (value("version").unwrap_or_default().to_owned(), value("paused") == Some("1"));
        let overrides = Overrides::read(&fields, &self.settings().name);
        let with = |before| EffectiveSettings { version: version.clone(), overrides: overrides.clone(), ..before };
        Ok(InForce { effective: self.set(with), is_paused })
    }

    /// As scripts take it: empty for a bucket of the configuration.
    pub(crate) fn incarnation_word(&self) -> String {
        self.incarnation.map_or_else(String::new, |number| number.to_string())
    }

    /// A bucket created over the API is that of its incarnation, and no other of its name. A change of that comes with
    /// a version, so that a caller that knows another one is answered all that is in `control`.
    fn check_incarnation(&self, fields: &[(String, String)]) -> Result<(), BucketError> {
        let Some(incarnation) = self.incarnation else { return Ok(()) };
        #[cfg(feature = "planted-bugs")]
        if crate::script::fault_injection::has("incarnation_not_checked") {
            return Ok(());
        }
        let found = fields.iter().find(|(name, _)| name == "incarnation").and_then(|(_, number)| number.parse().ok());
        let is_closed = fields.iter().any(|(name, _)| name == "closed");
        if found == Some(incarnation) && !is_closed { Ok(()) } else { Err(BucketError::Gone) }
    }

    /// Returns what it has set.
    fn set(&self, change: impl Fn(EffectiveSettings) -> EffectiveSettings) -> Arc<EffectiveSettings> {
        let mut made = self.effective_settings();
        self.effective.rcu(|known| {
            made = Arc::new(change(EffectiveSettings::clone(known)).applied());
            Arc::clone(&made)
        });
        made
    }
}
