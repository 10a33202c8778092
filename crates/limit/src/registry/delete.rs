//! Removes a service.

use dripfeed_store::{REGISTRY_FRAGMENTS, Script};

use super::Services;
use super::error::RegistryError;
use super::name::ServiceName;
use super::replaced::Replaced;
use super::rules::Rules;
use crate::lua::FRAGMENTS;

static DELETE: Script = Script::new("delete rules", &[FRAGMENTS, REGISTRY_FRAGMENTS], include_str!("delete.lua"));

impl Services {
    /// Removes a service, here at once and everywhere within a second. Returns whether it existed.
    ///
    /// # Errors
    /// When Redis can't be asked.
    pub async fn delete(&self, name: &ServiceName) -> Result<bool, RegistryError> {
        self.remove(name, Replaced::Any).await.map(|answer| answer == "deleted")
    }

    /// As [`Services::delete`], but only if the service has the rules `known`. Returns false if it has others, or none.
    ///
    /// # Errors
    /// When Redis can't be asked.
    pub async fn delete_if_unchanged(&self, name: &ServiceName, known: &Rules) -> Result<bool, RegistryError> {
        self.remove(name, Replaced::Known(Some(known))).await.map(|answer| answer == "deleted")
    }

    async fn remove(&self, name: &ServiceName, old: Replaced<'_>) -> Result<String, RegistryError> {
        let keys = &self.0.keys;
        let mut call = DELETE.on(&[&keys.rules, &keys.state]);
        call.arg(name.as_str());
        for word in old.words() {
            call.arg(word);
        }
        self.0.change(&call).await
    }
}
