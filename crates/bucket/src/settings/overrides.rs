//! Settings changed at run time, and how they override the configured ones.

use std::collections::BTreeMap;

use dripfeed_job::BucketName;
use serde_json::Value as Json;

use crate::settings::BucketSettings;
use crate::settings::fair::FairBy;
use crate::settings::limits::BucketLimits;
use crate::settings::run_time_settings::{RUN_TIME_SETTINGS, RunTimeSetting};
use crate::settings::setting_kind::{Adjustable, BadSetting, SettingValue};

/// By name of the setting: a value, or `None` to restore the configured one. Other settings are unchanged.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overrides(BTreeMap<&'static str, Option<SettingValue>>);

impl Overrides {
    /// Changes one setting to a value in the form of the API; null restores the configured value.
    ///
    /// # Errors
    /// For an unknown setting, or an invalid value.
    pub fn of(name: &str, value: impl Into<Json>) -> Result<Self, BadSetting> {
        let mut overrides = Self::default();
        let setting =
            RunTimeSetting::named(name).ok_or_else(|| BadSetting::Value(format!("unknown setting `{name}`")))?;
        overrides.set(setting, value.into())?;
        Ok(overrides)
    }

    /// Adds a change, as in [`Overrides::of`].
    ///
    /// # Errors
    /// What is wrong with the value.
    pub fn set(&mut self, setting: &'static RunTimeSetting, value: Json) -> Result<(), BadSetting> {
        let read = (!value.is_null()).then(|| setting.kind.read(setting.name, value)).transpose()?;
        self.0.insert(setting.name, read);
        Ok(())
    }

    /// Returns these overrides, overridden by `later`.
    #[must_use]
    pub fn and(mut self, later: Self) -> Self {
        self.0.extend(later.0);
        self
    }

    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Returns the overrides in the form of the API.
    pub fn iter(&self) -> impl Iterator<Item = (&'static RunTimeSetting, Option<&Json>)> {
        let json = |name| self.0.get(name).map(|value| value.as_ref().map(|value| &value.json));
        RUN_TIME_SETTINGS.iter().filter_map(move |setting| Some((setting, json(setting.name)?)))
    }

    /// Whether these overrides need fair queuing, which lists don't support.
    pub(crate) fn ask_for_turns(&self) -> bool {
        let off = Json::from(FairBy::Off.as_str());
        self.iter().any(|(setting, value)| setting.place().0 == "fair" && value.is_some_and(|value| *value != off))
    }

    /// Returns the configured settings and limits with these overrides.
    #[must_use]
    pub fn over(&self, settings: &BucketSettings, limits: &BucketLimits) -> (BucketSettings, BucketLimits) {
        let mut to = Adjustable { settings: settings.clone(), limits: limits.clone() };
        self.0.values().flatten().for_each(|value| (value.put)(&mut to));
        (to.settings, to.limits)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The fields of the control hash: a value to set, or `None` to delete the field.
    pub(crate) fn fields(&self) -> impl Iterator<Item = (&'static str, Option<String>)> {
        self.iter().map(|(setting, value)| (setting.field(), value.map(text)))
    }

    /// Reads the overrides from the control hash of this bucket. A setting that can't be read, for example because
    /// another version has written it, is left as configured.
    pub(crate) fn read(fields: &[(String, String)], bucket: &BucketName) -> Self {
        let mut overrides = Self::default();
        for setting in &RUN_TIME_SETTINGS {
            let field = fields.iter().find(|(field, _)| field == setting.field());
            let Some((name, text)) = field else { continue };
            let read = setting.kind.json_of_text(text).map_err(|error| error.to_string());
            let set = read.and_then(|json| overrides.set(setting, json).map_err(|error| error.to_string()));
            if let Err(error) = set {
                tracing::error!(
                    %bucket,
                    setting = %name,
                    error,
                    "can't read a run-time setting; it is left as configured until it is set again"
                );
            }
        }
        overrides
    }
}

/// A value as text in the control hash.
fn text(json: &Json) -> String {
    json.as_str().map_or_else(|| json.to_string(), str::to_owned)
}
