//! Removes a service.

use dripfeed_store::{Call, Script};

use super::Services;
use super::change::Change;
use super::error::RegistryError;
use super::keys::RegistryKeys;
use super::name::ServiceName;
use super::rules::Rules;
use super::scripts::RULES_FRAGMENTS;

static DELETE: Script = Script::new("delete rules", RULES_FRAGMENTS, include_str!("delete.lua"));

impl Services {
    /// Removes a service, here at once and everywhere within a second. Returns whether it existed. `by`: the id of the
    /// acting key, for the audit log.
    ///
    /// # Errors
    /// When Redis can't be asked, or other intakes change the same rules all the time.
    pub async fn delete(&self, name: &ServiceName, by: Option<&str>) -> Result<bool, RegistryError> {
        self.change(&Change { service: name, known: None, new: None, by }).await
    }

    /// As [`Services::delete`], but only if the service has the rules `known`. Returns false if it has others, or none.
    ///
    /// # Errors
    /// When Redis can't be asked.
    pub async fn delete_if_unchanged(
        &self,
        name: &ServiceName,
        known: &Rules,
        by: Option<&str>,
    ) -> Result<bool, RegistryError> {
        self.change(&Change { service: name, known: Some(&known.text), new: None, by }).await
    }
}

/// The call of the script, without the arguments of record_rules.
pub(super) fn call(keys: &RegistryKeys, service: &ServiceName, known: &str) -> Call<'static> {
    let mut call = DELETE.on(&keys.to_change());
    call.arg(service.as_str()).arg(known);
    call
}
