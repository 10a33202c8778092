//! All definitions, as far as a process knows them.

use std::collections::BTreeMap;
use std::sync::Arc;

use dripfeed_job::BucketName;
use dripfeed_store::{Script, Store};
use redis::Value;

use super::definition::Definition;
use super::definition_keys::DefinitionKeys;
use crate::error::BucketError;
use crate::script::reply::Reply;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("changed_definitions", SHARED, include_str!("changed_definitions.lua"));

/// In one answer; more are asked for at once.
const PAGE: u64 = 500;

/// What a process knows. It follows what Redis says: definitions that Redis lost are gone.
#[derive(Clone, Debug, Default)]
pub struct KnownDefinitions {
    epoch: String,
    version: u64,
    definitions: BTreeMap<BucketName, Arc<Definition>>,
    /// Of names and definitions that can't be read.
    unreadable: u64,
    /// Version and number that didn't fit to what is known, also after all was read again.
    unexplained: Option<(u64, u64)>,
}

/// A bucket that was defined, otherwise than before, or deleted.
#[derive(Clone, Debug, PartialEq)]
pub enum DefinitionChange {
    Defined(Arc<Definition>),
    Deleted(BucketName),
}

struct Page {
    epoch: String,
    count: u64,
    is_from_start: bool,
    has_more: bool,
    changes: Vec<(String, u64, String)>,
}

impl KnownDefinitions {
    /// Asks what has changed, and learns it.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time: what is known stays.
    pub async fn follow(&mut self, store: &Store) -> Result<Vec<DefinitionChange>, BucketError> {
        let first = self.ask(store).await?;
        if !first.is_from_start && first.changes.is_empty() && self.explains(first.count) {
            return Ok(Vec::new());
        }
        let mut next = self.clone();
        let count = next.read_pages(first, store).await?;
        // Redis has others than this process followed, such as after a failover.
        if !next.explains(count) {
            next = Self::default();
            let count = next.read_pages(next.ask(store).await?, store).await?;
            next.unexplained = (next.count() != count).then_some((next.version, count));
        }
        let changes = self.changes_to(&next);
        *self = next;
        Ok(changes)
    }

    #[must_use]
    pub fn get(&self, bucket: &str) -> Option<&Arc<Definition>> {
        self.definitions.get(bucket)
    }

    /// In the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = &Arc<Definition>> {
        self.definitions.values()
    }

    fn count(&self) -> u64 {
        self.definitions.len() as u64 + self.unreadable
    }

    fn explains(&self, count: u64) -> bool {
        self.count() == count || self.unexplained == Some((self.version, count))
    }

    /// How many definitions there are.
    async fn read_pages(&mut self, mut page: Page, store: &Store) -> Result<u64, BucketError> {
        loop {
            if page.is_from_start {
                *self = Self { unexplained: self.unexplained.take(), ..Self::default() };
            }
            self.epoch = page.epoch;
            for (name, version, text) in page.changes {
                self.version = self.version.max(version);
                self.learn(&name, version, &text);
            }
            if !page.has_more {
                return Ok(page.count);
            }
            page = self.ask(store).await?;
        }
    }

    fn learn(&mut self, name: &str, version: u64, text: &str) {
        let Ok(bucket) = name.parse::<BucketName>() else {
            self.unreadable += u64::from(!text.is_empty());
            return;
        };
        match Definition::parse(name, version, text) {
            Some(definition) => drop(self.definitions.insert(bucket, Arc::new(definition))),
            None => {
                self.definitions.remove(&bucket);
                if !text.is_empty() {
                    self.unreadable += 1;
                    tracing::error!(%bucket, "the definition of this bucket can't be read, and is left aside");
                }
            }
        }
    }

    fn changes_to(&self, next: &Self) -> Vec<DefinitionChange> {
        if self.version == next.version && self.epoch == next.epoch && self.unexplained == next.unexplained {
            return Vec::new();
        }
        let gone = self.definitions.keys().filter(|name| !next.definitions.contains_key(*name));
        let gone = gone.map(|name| DefinitionChange::Deleted(name.clone()));
        let new =
            next.definitions.values().filter(|definition| self.get(definition.bucket.as_str()) != Some(*definition));
        gone.chain(new.map(|definition| DefinitionChange::Defined(Arc::clone(definition)))).collect()
    }

    async fn ask(&self, store: &Store) -> Result<Page, BucketError> {
        let keys = DefinitionKeys::new(store.prefix());
        let mut call = SCRIPT.on(&[&keys.definitions, &keys.changed, &keys.state]);
        call.arg(&self.epoch).arg(self.version).arg(PAGE);
        let store = store.clone().for_key(&keys.definitions);
        let mut reply = Reply::new("changed_definitions", store.run::<Value>(&call).await?)?;
        let (epoch, count) = (reply.shown()?, reply.count()?);
        let (is_from_start, has_more) = (reply.count()? == 1, reply.count()? == 1);
        let mut changes = Vec::new();
        while !reply.is_empty() {
            let mut one = reply.array()?;
            let name = one.shown()?;
            let version = one.count()?;
            changes.push((name, version, String::from_utf8_lossy(&one.bytes()?).into_owned()));
        }
        Ok(Page { epoch, count, is_from_start, has_more, changes })
    }
}
