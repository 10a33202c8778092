//! The definitions that this process serves.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use dripfeed_bucket::{BucketPlace, Definition, DefinitionChange};
use dripfeed_job::BucketName;

use super::defined_bucket::{AllDefined, DefinedBucket};
use crate::settings::{DefinitionReader, Settings, UnreadDefinition};

const OVERRIDDEN: &str = "the configuration has a bucket of this name: the definition from the API isn't \
    used until that section is removed";

pub(super) struct ServedDefinitions {
    pub(super) reader: DefinitionReader,
    /// The buckets of the configuration, which take precedence over definitions.
    configured: BTreeSet<BucketName>,
    /// All definitions in Redis, including those that aren't served.
    known: BTreeMap<BucketName, Arc<Definition>>,
    all: AllDefined,
}

impl ServedDefinitions {
    pub(super) fn new(settings: &Settings) -> Self {
        let configured = settings.buckets.keys().cloned().collect();
        Self { reader: settings.definitions.clone(), configured, known: BTreeMap::new(), all: AllDefined::default() }
    }

    pub(super) const fn is_on(&self) -> bool {
        self.reader.is_on()
    }

    pub(super) fn is_configured(&self, bucket: &str) -> bool {
        self.configured.contains(bucket)
    }

    /// Finds also a definition that isn't served here, as it may be changed and deleted.
    pub(super) fn get(&self, bucket: &str) -> Option<Arc<Definition>> {
        self.known.get(bucket).cloned()
    }

    pub(super) const fn all(&self) -> &AllDefined {
        &self.all
    }

    /// Returns whether the bucket isn't served because its credentials can't be decrypted.
    pub(super) fn is_sealed(&self, bucket: &str) -> bool {
        self.all.sealed.contains_key(bucket)
    }

    pub(super) fn reload(&mut self, settings: &Settings) {
        self.reader = settings.definitions.clone();
        self.configured = settings.buckets.keys().cloned().collect();
        self.all = AllDefined::default();
        for definition in self.known.values().cloned().collect::<Vec<_>>() {
            let bucket = self.read(&definition);
            self.all.served.extend(bucket.map(|bucket| (definition.bucket.clone(), bucket)));
        }
    }

    /// Returns the buckets to serve that are new or changed, and the names of those to stop serving.
    pub(super) fn apply(&mut self, changes: Vec<DefinitionChange>) -> (Vec<Arc<DefinedBucket>>, Vec<BucketName>) {
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
                    self.all.sealed.remove(&name);
                    (name, None)
                }
            };
            match bucket {
                Some(bucket) => {
                    self.all.served.insert(name, Arc::clone(&bucket));
                    changed.push(bucket);
                }
                None => gone.extend(self.all.served.remove(&name).map(|_| name)),
            }
        }
        (changed, gone)
    }

    /// Returns `None` and logs the reason if the bucket isn't served here.
    fn read(&mut self, definition: &Arc<Definition>) -> Option<Arc<DefinedBucket>> {
        let bucket = &definition.bucket;
        self.all.sealed.remove(bucket);
        if !self.is_on() {
            return None;
        }
        if self.is_configured(bucket.as_str()) {
            tracing::warn!(%bucket, "{OVERRIDDEN}");
            return None;
        }
        match self.reader.read(bucket, &definition.definition, definition.sealed.as_deref()) {
            Ok(configured) => Some(Arc::new(DefinedBucket { definition: Arc::clone(definition), configured })),
            Err(why @ UnreadDefinition::Invalid(_)) => {
                tracing::error!(
                    %bucket,
                    error = %why,
                    "invalid bucket definition; this process doesn't serve the bucket"
                );
                None
            }
            Err(why @ UnreadDefinition::Sealed { .. }) => {
                tracing::error!(%bucket, error = %why, "this process doesn't serve the bucket, and its jobs wait");
                let place = self.reader.place(bucket, &definition.definition);
                self.all.sealed.extend(place.map(|settings| (bucket.clone(), BucketPlace::from(&settings))));
                None
            }
        }
    }
}
