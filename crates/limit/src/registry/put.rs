//! Registers a service, or replaces its rules.

use dripfeed_store::Script;

use super::Services;
use super::change::Change;
use super::error::RegistryError;
use super::name::ServiceName;
use super::rules::Rules;
use super::scripts::RULES_FRAGMENTS;

static PUT: Script = Script::new("put rules", RULES_FRAGMENTS, include_str!("put.lua"));

/// Every intake has a limiter for each service.
const MOST_SERVICES: usize = 1000;
/// Every intake reads all rules again after each change.
const MOST_BYTES: usize = 8 << 20;

impl Services {
    /// Sets the rules of a service, here at once and everywhere within a second. Policies with the same id keep their
    /// counters. `by`: the id of the acting key, for the audit log.
    ///
    /// # Errors
    /// When Redis is unavailable, there is no room, or other intakes change the same rules all the time; then the rules
    /// are unchanged.
    pub async fn put(&self, name: &ServiceName, rules: &Rules, by: Option<&str>) -> Result<(), RegistryError> {
        self.replace(name, None, rules, by).await.map(drop)
    }

    /// As [`Services::put`], but only if the service has the rules `known`, where `None` means that it isn't
    /// registered. Returns false, and changes nothing, if it has others.
    ///
    /// # Errors
    /// As [`Services::put`].
    pub async fn put_if_unchanged(
        &self,
        name: &ServiceName,
        known: Option<&Rules>,
        rules: &Rules,
        by: Option<&str>,
    ) -> Result<bool, RegistryError> {
        self.replace(name, Some(known.map_or("", |known| &known.text)), rules, by).await
    }

    async fn replace(
        &self,
        name: &ServiceName,
        known: Option<&str>,
        rules: &Rules,
        by: Option<&str>,
    ) -> Result<bool, RegistryError> {
        let call = |known: &str| {
            let mut call = PUT.on(&self.0.keys.to_change());
            call.arg(name.as_str()).arg(known).arg(&rules.text).arg(MOST_SERVICES).arg(MOST_BYTES);
            call
        };
        match self.change(&Change { service: name, known, new: Some(rules), by, call: &call }).await?.as_str() {
            "many services" => Err(RegistryError::ManyServices(MOST_SERVICES)),
            "many bytes" => Err(RegistryError::ManyBytes(MOST_BYTES)),
            word => Ok(word == "registered"),
        }
    }
}
