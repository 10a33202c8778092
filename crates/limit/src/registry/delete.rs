//! `DELETE`: removes a service.

use dripfeed_store::Script;

use super::Services;
use super::error::RegistryError;
use super::name::ServiceName;
use crate::lua::FRAGMENTS;

static DELETE: Script = Script::new("delete rules", &[FRAGMENTS], include_str!("delete.lua"));

impl Services {
    /// Removes a service, here at once and everywhere within a second. Returns whether it existed.
    ///
    /// # Errors
    /// When Redis can't be asked.
    pub async fn delete(&self, name: &ServiceName) -> Result<bool, RegistryError> {
        let keys = &self.0.keys;
        let mut call = DELETE.on(&[&keys.rules, &keys.state]);
        call.arg(name.as_str());
        self.0.change(&call).await
    }
}
