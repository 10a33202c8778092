//! Registers a service, or replaces its rules.

use dripfeed_store::Script;

use super::Services;
use super::error::RegistryError;
use super::name::ServiceName;
use super::replaced::Replaced;
use super::rules::Rules;
use crate::lua::FRAGMENTS;

static PUT: Script = Script::new("put rules", &[FRAGMENTS], include_str!("put.lua"));

/// Every intake has a limiter for each service.
const MOST_SERVICES: usize = 1000;
/// Every intake reads all rules again after each change.
const MOST_BYTES: usize = 8 << 20;

impl Services {
    /// Sets the rules of a service, here at once and everywhere within a second. Policies with the same id keep their
    /// counters.
    ///
    /// # Errors
    /// When Redis is unavailable, or there is no room; then the rules are unchanged.
    pub async fn put(&self, name: &ServiceName, rules: &Rules) -> Result<(), RegistryError> {
        self.replace(name, Replaced::Any, rules).await.map(drop)
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
    ) -> Result<bool, RegistryError> {
        self.replace(name, Replaced::Known(known), rules).await
    }

    async fn replace(&self, name: &ServiceName, old: Replaced<'_>, rules: &Rules) -> Result<bool, RegistryError> {
        let keys = &self.0.keys;
        let mut call = PUT.on(&[&keys.rules, &keys.state]);
        call.arg(name.as_str()).arg(&rules.text).arg(MOST_SERVICES).arg(MOST_BYTES);
        for word in old.words() {
            call.arg(word);
        }
        match self.0.change::<String>(&call).await?.as_str() {
            "many services" => Err(RegistryError::ManyServices(MOST_SERVICES)),
            "many bytes" => Err(RegistryError::ManyBytes(MOST_BYTES)),
            answer => Ok(answer != "changed"),
        }
    }
}
