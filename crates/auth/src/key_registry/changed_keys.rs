//! All keys that were made at run time, as far as a process knows them.

use std::collections::BTreeMap;
use std::sync::Arc;

use dripfeed_store::{Script, Store};
use redis::{Value, from_redis_value};

use super::error::KeyRegistryError;
use super::registry_keys::RegistryKeys;
use super::run_time_key::RunTimeKey;
use super::scripts::KEY_FRAGMENTS;

static SCRIPT: Script = Script::new("changed_keys", KEY_FRAGMENTS, include_str!("changed_keys.lua"));

/// In one answer; more are asked for at once.
const PAGE: usize = 200;

/// By their ids.
pub(crate) type AllRunTimeKeys = BTreeMap<String, Arc<RunTimeKey>>;

/// What a process knows. It follows what Redis says: keys that Redis lost are gone.
#[derive(Clone, Debug, Default)]
pub(super) struct KnownKeys {
    epoch: String,
    version: u64,
    pub(super) keys: AllRunTimeKeys,
    /// Of keys that can't be read.
    unreadable: u64,
    /// Version and number that didn't fit to what is known, also after all was read again.
    unexplained: Option<(u64, u64)>,
}

/// What Redis answered.
pub(super) struct News {
    pub(super) now_ms: u64,
    /// Whether other keys are known than before.
    pub(super) has_changes: bool,
}

/// Id, version and text; others may have written them.
type Change = (Vec<u8>, u64, Vec<u8>);

struct Page {
    epoch: String,
    count: u64,
    now_ms: u64,
    is_from_start: bool,
    has_more: bool,
    changes: Vec<Change>,
}

impl KnownKeys {
    /// Asks what has changed, and learns it. What is known stays where Redis can't be asked.
    pub(super) async fn follow(&mut self, store: &Store, keys: &RegistryKeys) -> Result<News, KeyRegistryError> {
        let first = self.ask(store, keys).await?;
        let now_ms = first.now_ms;
        if !first.is_from_start && first.changes.is_empty() && self.explains(first.count) {
            return Ok(News { now_ms, has_changes: false });
        }
        let mut next = self.clone();
        let count = next.read_pages(first, store, keys).await?;
        // Redis has others than this process followed, such as after a failover.
        if !next.explains(count) {
            next = Self::default();
            let count = next.read_pages(next.ask(store, keys).await?, store, keys).await?;
            next.unexplained = (next.count() != count).then_some((next.version, count));
        }
        let has_changes = self.keys != next.keys;
        *self = next;
        Ok(News { now_ms, has_changes })
    }

    fn count(&self) -> u64 {
        self.keys.len() as u64 + self.unreadable
    }

    fn explains(&self, count: u64) -> bool {
        self.count() == count || self.unexplained == Some((self.version, count))
    }

    /// How many keys there are.
    async fn read_pages(
        &mut self,
        mut page: Page,
        store: &Store,
        keys: &RegistryKeys,
    ) -> Result<u64, KeyRegistryError> {
        loop {
            if page.is_from_start {
                *self = Self { unexplained: self.unexplained.take(), ..Self::default() };
            }
            self.epoch = page.epoch;
            for (id, version, text) in page.changes {
                self.version = self.version.max(version);
                self.learn(&String::from_utf8_lossy(&id), version, &String::from_utf8_lossy(&text));
            }
            if !page.has_more {
                return Ok(page.count);
            }
            page = self.ask(store, keys).await?;
        }
    }

    fn learn(&mut self, id: &str, version: u64, text: &str) {
        match RunTimeKey::parse(id, version, text) {
            Some(key) => drop(self.keys.insert(id.to_owned(), Arc::new(key))),
            None => {
                self.keys.remove(id);
                if !text.is_empty() {
                    self.unreadable += 1;
                    tracing::error!(id, "this API key in Redis can't be read, and is left aside");
                }
            }
        }
    }

    async fn ask(&self, store: &Store, keys: &RegistryKeys) -> Result<Page, KeyRegistryError> {
        let mut call = SCRIPT.on(&[&keys.keys, &keys.changed, &keys.state]);
        call.arg(&self.epoch).arg(self.version).arg(PAGE);
        let value = store.run::<Value>(&call).await?;
        page(value).ok_or(KeyRegistryError::Reply(SCRIPT.name()))
    }
}

fn page(value: Value) -> Option<Page> {
    let Value::Array(members) = value else { return None };
    let mut members = members.into_iter();
    let epoch = from_redis_value(members.next()?).ok()?;
    let mut number = || from_redis_value::<u64>(members.next()?).ok();
    let (count, now_ms, is_from_start, has_more) = (number()?, number()?, number()? == 1, number()? == 1);
    let changes = members.map(|change| from_redis_value(change).ok()).collect::<Option<Vec<Change>>>()?;
    Some(Page { epoch, count, now_ms, is_from_start, has_more, changes })
}
