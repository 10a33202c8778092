//! Decides whether a definition may be deleted.

use dripfeed_store::{Script, Store};

use crate::define::definition::Definition;
use crate::define::definition_keys::DefinitionKeys;
use crate::error::BucketError;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("begin_deletion", SHARED, include_str!("begin_deletion.lua"));

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BeginDeletionResult {
    Begun,
    /// The definition was changed concurrently; read it again.
    Changed,
    /// The definition doesn't exist.
    Gone,
}

impl Definition {
    /// Decides the deletion, unless the definition was changed since it was read. If the caller is then interrupted,
    /// the deletion is completed before the next change. Suspend the bucket first, so that no job comes later.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; it may be done again.
    pub async fn begin_deletion(&self, store: &Store) -> Result<BeginDeletionResult, BucketError> {
        self.compare(store, "1").await
    }

    /// Returns whether Redis still has this version of the definition.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn is_current(&self, store: &Store) -> Result<bool, BucketError> {
        Ok(self.compare(store, "").await? == BeginDeletionResult::Begun)
    }

    async fn compare(&self, store: &Store, mark: &str) -> Result<BeginDeletionResult, BucketError> {
        let keys = DefinitionKeys::new(store.prefix());
        let mut call = SCRIPT.on(&[&keys.definitions, &keys.changed, &keys.state]);
        call.arg(self.bucket.as_str()).arg(self.version).arg(mark);
        let answer: String = store.clone().for_key(&keys.definitions).run_durably(&call).await?;
        match answer.as_str() {
            "same" => Ok(BeginDeletionResult::Begun),
            "changed" => Ok(BeginDeletionResult::Changed),
            "gone" => Ok(BeginDeletionResult::Gone),
            word => Err(BucketError::Reply { script: "begin_deletion", what: format!("unexpected reply `{word}`") }),
        }
    }
}
