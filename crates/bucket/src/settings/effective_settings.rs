//! The effective settings: the configured ones, and over them the changes that were made at run time.
//!
//! Changes are kept in Redis under a version. A script is given the settings as its caller knows them, and the
//! version that this comes from; where the changes are others by now, it does nothing and answers them, and is asked
//! again. So a change holds for all replicas from the moment it is written, and nobody asks for changes in vain.

use std::sync::Arc;

use arc_swap::ArcSwap;
use dripfeed_limit::Plan;

use crate::pace;
use crate::settings::BucketSettings;
use crate::settings::limits::BucketLimits;
use crate::settings::overrides::Overrides;

#[derive(Clone, Debug)]
pub(crate) struct EffectiveSettings {
    /// Of the changes. Empty: nothing was changed yet.
    pub(crate) version: String,
    pub(crate) overrides: Overrides,
    pub(crate) configured: Arc<BucketSettings>,
    /// The configured ones, changed.
    pub(crate) settings: BucketSettings,
    /// What lets calls pass. None: as fast as the upstream answers.
    pub(crate) pace: Option<Plan>,
    pace_key: String,
    configured_limits: BucketLimits,
    /// The configured ones, or others that were set at run time.
    pub(crate) limits: BucketLimits,
}

impl EffectiveSettings {
    fn new(configured: BucketSettings, pace_key: String) -> Self {
        let effective = Self {
            version: String::new(),
            overrides: Overrides::default(),
            settings: configured.clone(),
            configured: Arc::new(configured),
            pace: None,
            pace_key,
            configured_limits: BucketLimits::default(),
            limits: BucketLimits::default(),
        };
        effective.applied()
    }

    pub(crate) fn configured(self, configured: Arc<BucketSettings>) -> Self {
        Self { configured, ..self }.applied()
    }

    pub(crate) fn limited(self, configured_limits: BucketLimits) -> Self {
        Self { configured_limits, ..self }.applied()
    }

    pub(crate) fn changed(self, version: String, overrides: Overrides) -> Self {
        Self { version, overrides, ..self }.applied()
    }

    /// All that follows from what is configured and what was changed is worked out here.
    fn applied(self) -> Self {
        let (settings, limits) = self.overrides.over(&self.configured, &self.configured_limits);
        let pace = pace::plan(&settings.leak, self.pace_key.clone());
        Self { settings, pace, limits, ..self }
    }
}

/// The effective settings as far as this process knows.
#[derive(Debug)]
pub(crate) struct SettingsCache(ArcSwap<EffectiveSettings>);

impl SettingsCache {
    /// `pace_key`: where the state of the pace is.
    pub(crate) fn new(configured: BucketSettings, pace_key: String) -> Self {
        Self(ArcSwap::from_pointee(EffectiveSettings::new(configured, pace_key)))
    }

    pub(crate) fn now(&self) -> Arc<EffectiveSettings> {
        self.0.load_full()
    }

    pub(crate) fn set(&self, change: impl Fn(EffectiveSettings) -> EffectiveSettings) {
        self.0.rcu(|known| change(EffectiveSettings::clone(known)));
    }
}
