//! Defines a bucket.

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

/// What is to be defined.
#[derive(Clone, Debug)]
pub struct NewDefinition<'d> {
    pub bucket: &'d BucketName,
    /// The version that its caller knows. None: it isn't there.
    pub known: Option<u64>,
    pub capacity_bytes: u64,
    /// The id of the key that defines it.
    pub by: Option<&'d str>,
    pub definition: &'d Json,
    pub sealed: Option<&'d str>,
}

/// What all definitions may come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefinitionBounds {
    /// The most buckets.
    pub most: u64,
    /// The most that their `capacity_bytes` may be together.
    pub bytes: u64,
}

impl DefinitionBounds {
    /// The most bytes of one definition, as JSON.
    pub const ONE: usize = 64 << 10;
    /// The most bytes of all: every process keeps them.
    pub const ALL: usize = 16 << 20;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PutDefinition {
    Done {
        version: u64,
        incarnation: u64,
    },
    /// Another one has changed it meanwhile: look again.
    Changed,
    /// It is being deleted: that comes first.
    Deleting,
    ManyBuckets,
    /// The capacities together would be more than they may.
    ManyBytes,
    /// The definitions themselves would.
    ManyDefinitions,
}

impl NewDefinition<'_> {
    /// Within the bounds, and unless it is another one by now than its caller knows.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn put(&self, store: &Store, bounds: DefinitionBounds) -> Result<PutDefinition, BucketError> {
        let keys = DefinitionKeys::new(store.prefix());
        let mut call = SCRIPT.on(&keys.all());
        call.arg(self.bucket.as_str()).arg(self.known.map_or_else(String::new, |version| version.to_string()));
        call.arg(self.capacity_bytes).arg(definition::text(self.by, self.definition, self.sealed));
        call.arg(bounds.most).arg(bounds.bytes).arg(DefinitionBounds::ALL);
        call.arg(format!("{:016x}", fastrand::u64(..)));
        let store = store.clone().for_key(&keys.definitions);
        let mut reply = Reply::new("put_definition", store.run_durably::<Value>(&call).await?)?;
        match reply.text()?.as_str() {
            "put" => Ok(PutDefinition::Done { version: reply.count()?, incarnation: reply.count()? }),
            "changed" => Ok(PutDefinition::Changed),
            "deleting" => Ok(PutDefinition::Deleting),
            "many_buckets" => Ok(PutDefinition::ManyBuckets),
            "many_bytes" => Ok(PutDefinition::ManyBytes),
            "many_definitions" => Ok(PutDefinition::ManyDefinitions),
            word => Err(BucketError::Reply { script: "put_definition", what: format!("unexpected reply `{word}`") }),
        }
    }
}
