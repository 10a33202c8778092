//! Deletes a definition.

use dripfeed_store::{Script, Store};

use crate::define::definition::Definition;
use crate::define::definition_keys::DefinitionKeys;
use crate::error::BucketError;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("delete_definition", SHARED, include_str!("delete_definition.lua"));

impl Definition {
    /// Deletes the definition of a closed bucket. Returns false if it was already deleted, or created again.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn delete(&self, store: &Store) -> Result<bool, BucketError> {
        let keys = DefinitionKeys::new(store.prefix());
        let mut call = SCRIPT.on(&keys.all());
        call.arg(self.bucket.as_str()).arg(self.incarnation);
        Ok(store.clone().for_key(&keys.definitions).run_durably::<u8>(&call).await? == 1)
    }
}
