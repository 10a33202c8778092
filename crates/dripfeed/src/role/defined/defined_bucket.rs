use std::collections::BTreeMap;
use std::sync::Arc;

use dripfeed_bucket::{BucketPlace, Definition};
use dripfeed_job::BucketName;

use crate::settings::ConfiguredBucket;

/// A definition, and the bucket settings that result from it.
pub(crate) struct DefinedBucket {
    pub(crate) definition: Arc<Definition>,
    pub(crate) configured: ConfiguredBucket,
}

/// All definitions that this process may serve.
#[derive(Default)]
pub(crate) struct AllDefined {
    pub(crate) served: BTreeMap<BucketName, Arc<DefinedBucket>>,
    /// The buckets that this process can't serve because it can't decrypt their credentials. They aren't deleted.
    pub(crate) sealed: BTreeMap<BucketName, BucketPlace>,
}
