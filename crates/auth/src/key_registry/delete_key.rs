//! Revokes a key.

use dripfeed_store::Script;

use super::KeyRegistry;
use super::error::KeyRegistryError;
use super::run_time_key::RunTimeKey;
use super::scripts::KEY_FRAGMENTS;

static SCRIPT: Script = Script::new("delete_key", KEY_FRAGMENTS, include_str!("delete_key.lua"));

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeleteKeyResult {
    Done,
    /// The key doesn't exist.
    Gone,
    /// The key was changed concurrently; read it again.
    Changed,
}

impl KeyRegistry {
    /// Deletes the key if it is unchanged. `by`: the id of the acting key.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't respond in time.
    pub async fn delete(&self, known: &RunTimeKey, by: &str) -> Result<DeleteKeyResult, KeyRegistryError> {
        let mut call = SCRIPT.on(&self.keys.all());
        call.arg(&known.key.id).arg(known.version).arg(by);
        let reply: Vec<String> = self.store.run_durably(&call).await?;
        match reply.first().map(String::as_str) {
            Some("deleted") => Ok(DeleteKeyResult::Done),
            Some("gone") => Ok(DeleteKeyResult::Gone),
            Some("changed") => Ok(DeleteKeyResult::Changed),
            _ => Err(KeyRegistryError::Reply(SCRIPT.name())),
        }
    }
}
