//! Creates or replaces the definition of a bucket.

use dripfeed_job::BucketName;
use dripfeed_store::{Script, Store};
use redis::Value;
use serde_json::Value as Json;

use super::definition;
use super::definition_keys::DefinitionKeys;
use crate::error::BucketError;
use crate::script::reply::Reply;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("put_definition", SHARED, include_str!("put_definition.lua"));

/// A new definition.
#[derive(Clone, Debug)]
pub struct NewDefinition<'d> {
    pub bucket: &'d BucketName,
    /// The version that the caller knows. `None` if the definition doesn't exist yet.
    pub known: Option<u64>,
    pub capacity_bytes: u64,
    /// The id of the caller's key.
    pub by: Option<&'d str>,
    pub definition: &'d Json,
    pub sealed: Option<&'d str>,
}

/// Limits of all definitions together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefinitionBounds {
    /// Maximum number of buckets.
    pub most: u64,
    /// Maximum sum of `capacity_bytes`.
    pub bytes: u64,
}

impl DefinitionBounds {
    /// Maximum bytes of one definition, as JSON.
    pub const ONE: usize = 64 << 10;
    /// Maximum bytes of all definitions, because every process keeps them in memory.
    pub const ALL: usize = 16 << 20;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutDefinitionResult {
    Done {
        version: u64,
        incarnation: u64,
    },
    /// The definition was changed concurrently; read it again.
    Changed,
    /// The bucket is being deleted; complete the deletion first.
    Deleting,
    ManyBuckets,
    /// The sum of capacities would exceed its maximum.
    ManyBytes,
    /// The size of all definitions would exceed its maximum.
    ManyDefinitions,
    /// Too many other names were deleted within a day.
    ManyDeleted,
}

impl NewDefinition<'_> {
    /// Creates or replaces the definition, within `bounds`, if it still has the version that the caller knows.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn put(&self, store: &Store, bounds: DefinitionBounds) -> Result<PutDefinitionResult, BucketError> {
        let keys = DefinitionKeys::new(store.prefix());
        let mut call = SCRIPT.on(&keys.all());
        call.arg(self.bucket.as_str()).arg(self.known.map_or_else(String::new, |version| version.to_string()));
        call.arg(self.capacity_bytes).arg(definition::text(self.by, self.definition, self.sealed));
        call.arg(bounds.most).arg(bounds.bytes).arg(DefinitionBounds::ALL);
        call.arg(format!("{:016x}", fastrand::u64(..)));
        let store = store.clone().for_key(&keys.definitions);
        let mut reply = Reply::new("put_definition", store.run_durably::<Value>(&call).await?)?;
        match reply.text()?.as_str() {
            "put" => Ok(PutDefinitionResult::Done { version: reply.count()?, incarnation: reply.count()? }),
            "changed" => Ok(PutDefinitionResult::Changed),
            "deleting" => Ok(PutDefinitionResult::Deleting),
            "many_buckets" => Ok(PutDefinitionResult::ManyBuckets),
            "many_bytes" => Ok(PutDefinitionResult::ManyBytes),
            "many_definitions" => Ok(PutDefinitionResult::ManyDefinitions),
            "many_deleted" => Ok(PutDefinitionResult::ManyDeleted),
            word => Err(BucketError::Reply { script: "put_definition", what: format!("unexpected reply `{word}`") }),
        }
    }
}
