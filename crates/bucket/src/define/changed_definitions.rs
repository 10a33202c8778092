//! Follows the changes of definitions in Redis, for a process that keeps a copy of all.

use std::sync::Arc;

use dripfeed_job::BucketName;
use dripfeed_store::{KnownEntries, Registry, RegistryEntry, Script, Store};

use super::definition::Definition;
use super::definition_keys::DefinitionKeys;
use crate::error::BucketError;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("changed_definitions", SHARED, include_str!("changed_definitions.lua"));

/// The definitions that a process knows. Redis is the source of truth: definitions that it lost are removed.
#[derive(Debug, Default)]
pub struct KnownDefinitions(KnownEntries<Definition>);

/// A changed, new or deleted definition.
#[derive(Clone, Debug, PartialEq)]
pub enum DefinitionChange {
    Defined(Arc<Definition>),
    Deleted(BucketName),
}

impl RegistryEntry for Definition {
    const WHAT: &'static str = "definition of a bucket";

    fn parse(bucket: &str, version: u64, text: &str) -> Option<Self> {
        Self::parse(bucket, version, text)
    }
}

impl KnownDefinitions {
    /// Reads the changes from Redis.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time: what is known stays.
    pub async fn follow(&mut self, store: &Store) -> Result<Vec<DefinitionChange>, BucketError> {
        let keys = DefinitionKeys::new(store.prefix());
        let registry = Registry { script: &SCRIPT, keys: [&keys.definitions, &keys.changed, &keys.state] };
        let changes = self.0.follow(registry, &store.clone().for_key(&keys.definitions)).await?;
        let gone = changes.removed.into_iter().map(|definition| DefinitionChange::Deleted(definition.bucket.clone()));
        Ok(gone.chain(changes.changed.into_iter().map(DefinitionChange::Defined)).collect())
    }

    #[must_use]
    pub fn get(&self, bucket: &str) -> Option<&Arc<Definition>> {
        self.0.all().get(bucket)
    }

    /// Returns the definitions, ordered by name.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.0.all().values()
    }
}
