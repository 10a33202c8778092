//! Decides whether a definition may be deleted.

use dripfeed_store::{Script, Store};

use crate::define::definition::Definition;
use crate::define::definition_keys::DefinitionKeys;
use crate::error::BucketError;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("begin_deletion", SHARED, include_str!("begin_deletion.lua"));

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deletion {
    Begun,
    /// It was changed concurrently; read it again.
    Changed,
    /// It isn't there.
    Gone,
}

impl Definition {
    /// Unless it is another one by now, it will be deleted: if not by its caller, then by the next change. Its bucket
    /// is suspended by then, so that this decides over what becomes of its jobs, too.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time; it may be done again.
    pub async fn begin_deletion(&self, store: &Store) -> Result<Deletion, BucketError> {
        self.compare(store, "1").await
    }

    /// Whether it still is the one in Redis.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn is_current(&self, store: &Store) -> Result<bool, BucketError> {
        Ok(self.compare(store, "").await? == Deletion::Begun)
    }

    async fn compare(&self, store: &Store, mark: &str) -> Result<Deletion, BucketError> {
        let keys = DefinitionKeys::new(store.prefix());
        let mut call = SCRIPT.on(&[&keys.definitions, &keys.changed, &keys.state]);
        call.arg(self.bucket.as_str()).arg(self.version).arg(mark);
        let answer: String = store.clone().for_key(&keys.definitions).run_durably(&call).await?;
        match answer.as_str() {
            "same" => Ok(Deletion::Begun),
            "changed" => Ok(Deletion::Changed),
            "gone" => Ok(Deletion::Gone),
            word => Err(BucketError::Reply { script: "begin_deletion", what: format!("unexpected reply `{word}`") }),
        }
    }
}
