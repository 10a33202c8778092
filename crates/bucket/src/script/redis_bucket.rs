//! The state of a bucket that all verbs need: the store, the names of its keys, and its effective settings.
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
use dripfeed_limit::{Align, KeyIndex, Plan, Policy, ScopeKeys, Tier, TierKind};
use dripfeed_store::{Call, Store};
use parking_lot::Mutex;
use redis::Value;

use crate::deliver::permit;
use crate::ended::expire::look::ExpiryScan;
use crate::error::BucketError;
use crate::pace::{self, calendar_clock::CalendarClock};
use crate::script::constants::SMALL_BYTES;
use crate::script::keys::Keys;
use crate::script::reply::Reply;
use crate::settings::fair::FairBy;
use crate::settings::limits::BucketLimits;
use crate::settings::overrides::Overrides;
use crate::settings::{BucketSettings, Kind};

/// How often a script is called again because the settings have changed.
pub(crate) const TRIES: usize = 10;

/// When the reply of a script is returned.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WaitFor {
    /// At once.
    Reply,
    /// After its writes are as durable as configured.
    Durability,
}

#[derive(Clone, Debug)]
pub(crate) struct EffectiveSettings {
    /// Version of the run-time changes; empty without any.
    pub(crate) version: String,
    pub(crate) overrides: Overrides,
    configured: Arc<BucketSettings>,
    /// The configured settings with the run-time changes applied.
    pub(crate) settings: Arc<BucketSettings>,
    /// Rate limit of the calls. `None` if they are only limited by concurrency.
    pub(crate) pace: Option<Plan>,
    /// Rate and concurrency limits per caller (limits_of.lua); empty without any.
    pub(crate) bounds: String,
    /// [`Fair::weights_of_turns`](crate::settings::fair::Fair::weights_of_turns)
    pub(crate) weights: String,
    /// [`BucketSettings::packed_ends`]
    pub(crate) ends: String,
    /// [`BucketSettings::share_of_one`]
    pub(crate) share_of_one: [String; 2],
    /// Whether fair queuing is on.
    pub(crate) has_fair_queuing: bool,
    /// Whether calls may be granted ahead of their time (permit.rs).
    is_granted_ahead: bool,
    /// Whether the pace is refunded for calls that aren't made (charge.rs).
    pub(crate) is_refundable: bool,
    /// How late paced calls may begin without being charged for it (permit.rs).
    pub(crate) prompt: Duration,
    /// The key of the pace's state.
    pace_key: String,
    configured_limits: BucketLimits,
    /// The configured limits, or those that were set at run time.
    pub(crate) limits: BucketLimits,
    /// Whether `limits` has any.
    pub(crate) has_limits: bool,
    /// Whether the pace or the limits have windows of a calendar.
    pub(crate) has_calendar: bool,
}

/// Differs from all stored versions, so that the first call returns the changes, and shows whether the bucket is open.
const UNKNOWN_VERSION: &str = "-";

/// The effective settings of a bucket, and whether it is paused.
#[derive(Clone, Debug)]
pub struct EffectiveState {
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
            has_fair_queuing: false,
            is_granted_ahead: false,
            is_refundable: false,
            prompt: permit::PROMPT,
            pace_key,
            configured_limits: BucketLimits::default(),
            limits: BucketLimits::default(),
            has_limits: false,
            has_calendar: false,
        };
        effective.applied()
    }

    /// Computes everything that depends on the configured settings and the run-time changes.
    fn applied(self) -> Self {
        let (mut settings, mut limits) = (Arc::clone(&self.configured), self.configured_limits.clone());
        // Without changes, as in most buckets, the configured settings are shared.
        if !self.overrides.is_empty() {
            let (changed, changed_limits) = self.overrides.over(&settings, &limits);
            (settings, limits) = (Arc::new(changed), changed_limits);
        }
        let pace = pace::plan(&settings.leak, self.pace_key.clone());
        let (bounds, weights) = (settings.fair.packed_bounds(), settings.fair.weights_of_turns());
        let (ends, share_of_one) = (settings.packed_ends(), settings.share_of_one());
        let has_fair_queuing = settings.kind == Kind::Stream && settings.fair.by != FairBy::Off;
        let has_limits = !limits.document().is_empty();
        let of_limits = limits.policies().iter().flat_map(Policy::tiers);
        let has_calendar = |tier: &Tier| matches!(tier.kind(), TierKind::Fixed(Align::Calendar(_)));
        let has_calendar = settings.leak.tiers.tiers().iter().chain(of_limits).any(has_calendar);
        let is_granted_ahead = pace::is_granted_ahead(&settings.leak) && !settings.fair.has_rate();
        let is_refundable = pace::is_refundable(&settings.leak);
        let prompt = if settings.fair.has_rate() { permit::PROMPT_OF_CALLERS } else { permit::PROMPT };
        let settled = Self { settings, pace, bounds, weights, ends, share_of_one, has_fair_queuing, ..self };
        Self { limits, has_limits, has_calendar, is_granted_ahead, is_refundable, prompt, ..settled }
    }

    /// Whether a call is only valid for a limited time after it was granted.
    pub(crate) fn is_paced(&self) -> bool {
        self.pace.is_some() || !self.bounds.is_empty() && self.settings.fair.has_rate()
    }

    /// How long before their time calls are granted, if they are made within `valid` (permit.rs).
    pub(crate) fn granted_ahead(&self, valid: Duration) -> Duration {
        if self.is_granted_ahead { permit::ahead(valid) } else { Duration::ZERO }
    }

    /// Whether jobs are refused only for lack of room, not by a limit or a caller share.
    pub(crate) fn is_judged_by_room(&self) -> bool {
        self.settings.max_share.is_none() && !self.has_limits
    }
}

pub(crate) struct RedisBucket {
    pub(crate) store: Store,
    pub(crate) keys: Keys,
    pub(crate) kind: Kind,
    pub(crate) scopes: ScopeKeys,
    /// `None` for a bucket of the configuration.
    pub(crate) incarnation: Option<u64>,
    /// Whether all jobs of the latest batch were refused because the bucket was full.
    pub(crate) was_full: AtomicBool,
    /// The effective settings, as far as this process knows.
    effective: ArcSwap<EffectiveSettings>,
    /// Where the next run of retention continues in the keyed jobs.
    pub(crate) keyed_looked_at: AtomicU64,
    /// Where the next run of retention continues in the jobs.
    pub(crate) expiry_look: Mutex<ExpiryScan>,
    /// The last sample for the history, in case Redis has lost it; empty if there was none.
    pub(crate) last_look: Mutex<String>,
    calendar_clock: CalendarClock,
    /// The state of the pace that a take of this process last wrote; empty if none did. Kept over memberships, and in
    /// case Redis loses it (settling.lua).
    pub(crate) known_pace: Mutex<Bytes>,
    /// Counts scripts of this process that may change the bucket.
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
        let calendar_clock = CalendarClock::default();
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
            calendar_clock,
            known_pace,
            changes,
        }
    }

    /// Runs a script that reads jobs or records for a caller. Its reply begins with the bytes that it read, which are
    /// also returned. After a large read, Redis rests for small requests.
    pub(crate) async fn read(
        &self,
        name: &'static str,
        call: &Call<'_>,
        wait_for: WaitFor,
    ) -> Result<(usize, Reply), BucketError> {
        let started = Instant::now();
        let mut reply = Reply::new(name, self.run(call, wait_for).await?)?;
        let took = started.elapsed();
        let bytes = usize::try_from(reply.count()?).unwrap_or(usize::MAX);
        if bytes > SMALL_BYTES {
            self.store.rest_after_large(bytes, took).await;
        }
        Ok((bytes, reply))
    }

    async fn run(&self, call: &Call<'_>, wait_for: WaitFor) -> Result<Value, BucketError> {
        self.in_own_kind(|| self.run_once(call, wait_for)).await
    }

    /// Makes a request, and repeats it if an empty key of the other kind was in the way. The request must read the jobs
    /// before it writes anything.
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

    /// The configured settings.
    pub(crate) fn settings(&self) -> Arc<BucketSettings> {
        self.effective.load().configured.clone()
    }

    pub(crate) fn configured_limits(&self) -> BucketLimits {
        self.effective.load().configured_limits.clone()
    }

    pub(crate) fn effective_settings(&self) -> Arc<EffectiveSettings> {
        self.effective.load_full()
    }

    /// Whether fair queuing is on, as far as this process knows.
    pub(crate) fn has_fair_queuing(&self) -> bool {
        self.effective.load().has_fair_queuing
    }

    pub(crate) fn reconfigure(&self, settings: BucketSettings) {
        let configured = Arc::new(settings);
        self.set(|before| EffectiveSettings { configured: configured.clone(), ..before });
    }

    pub(crate) fn set_limits(&self, limits: &BucketLimits) {
        self.set(|before| EffectiveSettings { configured_limits: limits.clone(), ..before });
    }

    /// Runs a script with the effective settings, and again if it replies that they have changed.
    pub(crate) async fn run_with_settings(
        &self,
        script: &'static str,
        wait_for: WaitFor,
        call: impl Fn(&EffectiveSettings) -> Call<'static>,
    ) -> Result<(Arc<EffectiveSettings>, Reply), BucketError> {
        for _ in 0..TRIES {
            let effective = self.effective_settings();
            self.look_at_clock(&effective).await;
            let call = call(&effective);
            let reply = self.run(&call, wait_for).await?;
            if let Some(reply) = self.learn_overrides(Reply::new(script, reply)?)? {
                return Ok((effective, reply));
            }
        }
        Err(BucketError::Changing)
    }

    /// To be called before plans are packed: asks Redis for its time if windows depend on it.
    pub(crate) async fn look_at_clock(&self, effective: &EffectiveSettings) {
        if effective.has_calendar {
            self.calendar_clock.look(&self.store).await;
        }
    }

    /// The Redis clock in µs, if the windows of plans depend on it.
    pub(crate) fn time_of_plans(&self, effective: &EffectiveSettings) -> u64 {
        if effective.has_calendar { self.calendar_clock.now_us() } else { 0 }
    }

    /// Appends the key of the pace's state to `keys`. Returns also the plan of the pace, empty without a pace.
    pub(crate) fn pack_pace(&self, effective: &EffectiveSettings, keys: Vec<String>) -> (Vec<String>, Vec<u8>) {
        let Some(pace) = &effective.pace else { return (keys, Vec::new()) };
        let mut index = KeyIndex::after(keys);
        let packed = pace.pack(&mut index, self.time_of_plans(effective));
        (index.into_keys(), packed)
    }

    /// Returns the reply of a script, or `None` if it was `changed`: then the new settings are effective now.
    pub(crate) fn learn_overrides(&self, reply: Reply) -> Result<Option<Reply>, BucketError> {
        if !reply.begins_with("changed") {
            return Ok(Some(reply));
        }
        self.learn(reply)?;
        Ok(None)
    }

    /// Applies a reply `changed`, which contains the fields of `control`.
    pub(crate) fn learn(&self, mut reply: Reply) -> Result<EffectiveState, BucketError> {
        reply.text()?;
        let fields = reply.array()?.fields()?;
        self.check_incarnation(&fields)?;
        let value = |wanted: &str| fields.iter().find(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
        let (version, is_paused) = (value("version").unwrap_or_default().to_owned(), value("paused") == Some("1"));
        let overrides = Overrides::read(&fields, &self.settings().name);
        let with = |before| EffectiveSettings { version: version.clone(), overrides: overrides.clone(), ..before };
        Ok(EffectiveState { effective: self.set(with), is_paused })
    }

    /// The incarnation as an argument of scripts; empty for a bucket of the configuration.
    pub(crate) fn incarnation_word(&self) -> String {
        self.incarnation.map_or_else(String::new, |number| number.to_string())
    }

    /// Returns `Gone` if the bucket in Redis is closed, or is another incarnation. A new incarnation changes the
    /// version, so scripts reply with `control`, and this check is made.
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

    /// Changes the effective settings, and returns the new ones.
    fn set(&self, change: impl Fn(EffectiveSettings) -> EffectiveSettings) -> Arc<EffectiveSettings> {
        let mut made = self.effective_settings();
        self.effective.rcu(|known| {
            made = Arc::new(change(EffectiveSettings::clone(known)).applied());
            Arc::clone(&made)
        });
        made
    }
}
