//! The definitions that this process serves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dripfeed_bucket::{Definition, DefinitionChange};
use dripfeed_job::BucketName;

use super::defined_bucket::{AllDefined, DefinedBucket};
use crate::settings::{DefinitionReader, Settings};

pub(super) struct ServedDefinitions {
    pub(super) reader: DefinitionReader,
    /// They win.
    configured: BTreeSet<BucketName>,
    /// All that Redis has.
    known: BTreeMap<BucketName, Arc<Definition>>,
    served: AllDefined,
}

impl ServedDefinitions {
    pub(super) fn new(settings: &Settings) -> Self {
        let configured = settings.buckets.keys().cloned().collect();
        Self { reader: settings.definitions.clone(), configured, known: BTreeMap::new(), served: BTreeMap::new() }
    }

    pub(super) const fn is_on(&self) -> bool {
        self.reader.is_on()
    }

    pub(super) fn is_configured(&self, bucket: &str) -> bool {
        self.configured.contains(bucket)
    }

    /// Also one that isn't served here: it may be changed, and deleted.
    pub(super) fn get(&self, bucket: &str) -> Option<Arc<Definition>> {
        self.known.get(bucket).cloned()
    }

    pub(super) const fn all(&self) -> &AllDefined {
        &self.served
    }

    pub(super) fn reload(&mut self, settings: &Settings) {
        self.reader = settings.definitions.clone();
        self.configured = settings.buckets.keys().cloned().collect();
        let served = self.known.values().filter_map(|definition| self.read(definition));
        self.served = served.map(|bucket| (bucket.definition.bucket.clone(), bucket)).collect();
    }

    /// Those that are served from now on, or otherwise, and those that are no more.
    pub(super) fn learn(&mut self, changes: Vec<DefinitionChange>) -> (Vec<Arc<DefinedBucket>>, Vec<BucketName>) {
        let (mut changed, mut gone) = (Vec::new(), Vec::new());
        for change in changes {
            let (name, bucket) = match change {
                DefinitionChange::Defined(definition) => {
                    let (name, bucket) = (definition.bucket.clone(), self.read(&definition));
                    self.known.insert(name.clone(), definition);
                    (name, bucket)
                }
                DefinitionChange::Deleted(name) => {
                    self.known.remove(&name);
                    (name, None)
                }
            };
            match bucket {
                Some(bucket) => {
                    self.served.insert(name, Arc::clone(&bucket));
                    changed.push(bucket);
                }
                None => gone.extend(self.served.remove(&name).map(|_| name)),
            }
        }
        (changed, gone)
    }

    fn read(&self, definition: &Arc<Definition>) -> Option<Arc<DefinedBucket>> {
        let bucket = &definition.bucket;
        if !self.is_on() || self.is_configured(bucket.as_str()) {
            return None;
        }
        let read = self.reader.read(bucket, &definition.definition, definition.sealed.as_deref());
        let configured = read.inspect_err(|faults| {
            let faults: Vec<String> =
                faults.iter().map(|fault| format!("{}: {}", fault.place, fault.message)).collect();
            tracing::error!(%bucket, "invalid bucket definition; this process doesn't serve the bucket: \
                {}", faults.join("; "));
        });
        Some(Arc::new(DefinedBucket { definition: Arc::clone(definition), configured: configured.ok()? }))
    }
}
