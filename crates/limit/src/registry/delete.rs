//! Removes a service.

use dripfeed_store::Script;

use super::Services;
use super::change::Change;
use super::error::RegistryError;
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
        self.remove(name, None, by).await
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
        self.remove(name, Some(&known.text), by).await
    }

    async fn remove(&self, name: &ServiceName, known: Option<&str>, by: Option<&str>) -> Result<bool, RegistryError> {
        let call = |known: &str| {
            let mut call = DELETE.on(&self.0.keys.to_change());
            call.arg(name.as_str()).arg(known);
            call
        };
        let word = self.change(&Change { service: name, known, new: None, by, call: &call }).await?;
        Ok(word == "deleted")
    }
}
