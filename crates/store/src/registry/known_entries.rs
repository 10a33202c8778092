//! The entries of a registry that this process knows.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::{PAGE, PAGE_BYTES, Registry, RegistryEntry};
use crate::error::StoreError;
use crate::store::Store;

/// How many of the latest changes are compared with Redis. A failover that lost at most this many changes is always
/// noticed; one that lost more, unless each of these entries was changed again before the next read.
const LATEST: usize = 16;

/// The entries that a process knows. Entries that Redis has lost are removed.
#[derive(Debug)]
pub struct KnownEntries<E> {
    epoch: Vec<u8>,
    version: u64,
    entries: BTreeMap<String, Arc<E>>,
    /// The number of entries that can't be parsed.
    unreadable: u64,
    /// The latest changes by version and name, to detect whether Redis has lost them.
    latest: VecDeque<(u64, Vec<u8>)>,
    /// A version and number of entries in Redis that differed from ours even after reading all entries.
    unexplained: Option<(u64, u64)>,
}

/// The changes of a registry since the previous read.
#[derive(Debug)]
pub struct RegistryChanges<E> {
    /// The time of the Redis clock.
    pub now_ms: u64,
    /// Removed entries, as they were.
    pub removed: Vec<Arc<E>>,
    /// New and changed entries.
    pub changed: Vec<Arc<E>>,
}

/// Epoch, number of entries, ms of the Redis clock, whether the page begins with the first entry of all, whether more
/// follow; and name, version and text of each change, which others may have written.
type Page = (Vec<u8>, u64, u64, bool, bool, Vec<Vec<u8>>);

impl<E> Default for KnownEntries<E> {
    fn default() -> Self {
        let (epoch, entries, latest) = (Vec::new(), BTreeMap::new(), VecDeque::new());
        Self { epoch, version: 0, entries, unreadable: 0, latest, unexplained: None }
    }
}

impl<E> Clone for KnownEntries<E> {
    fn clone(&self) -> Self {
        let (epoch, entries, latest) = (self.epoch.clone(), self.entries.clone(), self.latest.clone());
        Self { epoch, entries, latest, ..*self }
    }
}

impl<E: RegistryEntry> KnownEntries<E> {
    /// Reads the changes since the last call.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't respond in time. The known entries stay the same.
    pub async fn follow(&mut self, registry: Registry<'_>, store: &Store) -> Result<RegistryChanges<E>, StoreError> {
        let first = self.ask(registry, store, false).await?;
        let (_, count, now_ms, is_from_start, _, changes) = &first;
        let now_ms = *now_ms;
        if !is_from_start && changes.is_empty() && self.explains(*count) {
            return Ok(RegistryChanges { now_ms, removed: Vec::new(), changed: Vec::new() });
        }
        // Boxed to keep the future small, as most reads find no changes.
        let next = Box::pin(self.read_changes(first, registry, store)).await?;
        let changes = RegistryChanges { now_ms, removed: next.missing(self), changed: self.changed_in(&next) };
        *self = next;
        Ok(changes)
    }

    /// Returns the entries by name.
    #[must_use]
    pub const fn all(&self) -> &BTreeMap<String, Arc<E>> {
        &self.entries
    }

    fn count(&self) -> u64 {
        self.entries.len() as u64 + self.unreadable
    }

    fn explains(&self, count: u64) -> bool {
        self.count() == count || self.unexplained == Some((self.version, count))
    }

    async fn read_changes(&self, first: Page, registry: Registry<'_>, store: &Store) -> Result<Self, StoreError> {
        let mut next = self.clone();
        let count = next.read_pages(first, registry, store).await?;
        // Redis has other changes than this process has read, as after a failover.
        if !next.explains(count) {
            next = Self::default();
            let count = next.read_pages(next.ask(registry, store, false).await?, registry, store).await?;
            next.unexplained = (next.count() != count).then_some((next.version, count));
        }
        Ok(next)
    }

    /// Applies this page and all that follow. Returns the number of entries in Redis.
    async fn read_pages(&mut self, mut page: Page, registry: Registry<'_>, store: &Store) -> Result<u64, StoreError> {
        let mut reads_all = false;
        loop {
            let (epoch, count, _, is_from_start, has_more, changes) = page;
            if is_from_start {
                reads_all = true;
                *self = Self { unexplained: self.unexplained.take(), ..Self::default() };
            }
            self.epoch = epoch;
            for change in changes.as_chunks::<3>().0 {
                let [name, version, text] = change.each_ref().map(|part| String::from_utf8_lossy(part));
                let version = version.parse().unwrap_or_default();
                self.note_latest(&change[0], version);
                self.apply(&name, version, &text);
            }
            if !has_more {
                return Ok(count);
            }
            page = self.ask(registry, store, reads_all).await?;
        }
    }

    fn note_latest(&mut self, name: &[u8], version: u64) {
        if self.latest.len() == LATEST {
            self.latest.pop_front();
        }
        self.latest.push_back((version, name.to_owned()));
    }

    fn apply(&mut self, name: &str, version: u64, text: &str) {
        self.version = self.version.max(version);
        match E::parse(name, version, text) {
            Some(entry) => drop(self.entries.insert(name.to_owned(), Arc::new(entry))),
            None => {
                self.entries.remove(name);
                if !text.is_empty() {
                    self.unreadable += 1;
                    tracing::error!(what = E::WHAT, name, "an entry in Redis can't be parsed; ignoring it");
                }
            }
        }
    }

    /// The entries of `before` that no longer exist.
    fn missing(&self, before: &Self) -> Vec<Arc<E>> {
        let gone = before.entries.iter().filter(|(name, _)| !self.entries.contains_key(*name));
        gone.map(|(_, entry)| Arc::clone(entry)).collect()
    }

    /// The entries of `next` that are new or changed.
    fn changed_in(&self, next: &Self) -> Vec<Arc<E>> {
        let is_same = |name: &String, entry: &Arc<E>| {
            self.entries.get(name).is_some_and(|known| Arc::ptr_eq(known, entry) || known == entry)
        };
        next.entries.iter().filter(|(name, entry)| !is_same(name, entry)).map(|(_, entry)| Arc::clone(entry)).collect()
    }

    /// `reads_all`: whether the pages before began with the first entry of all.
    async fn ask(&self, registry: Registry<'_>, store: &Store, reads_all: bool) -> Result<Page, StoreError> {
        let mut call = registry.script.on(&registry.keys);
        call.arg(&self.epoch[..]).arg(self.version).arg(PAGE).arg(PAGE_BYTES).arg(if reads_all { "1" } else { "" });
        for (version, name) in &self.latest {
            call.arg(&name[..]).arg(version);
        }
        store.run(&call).await
    }
}
