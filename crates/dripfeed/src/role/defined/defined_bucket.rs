use std::collections::BTreeMap;
use std::sync::Arc;

use dripfeed_bucket::{BucketPlace, Definition};
use dripfeed_job::BucketName;

use crate::settings::ConfiguredBucket;

/// A definition, and what it comes to.
pub(crate) struct DefinedBucket {
    pub(crate) definition: Arc<Definition>,
    pub(crate) configured: ConfiguredBucket,
}

/// All definitions that this process may serve.
#[derive(Default)]
pub(crate) struct AllDefined {
    pub(crate) served: BTreeMap<BucketName, Arc<DefinedBucket>>,
    /// Of those whose credentials can't be decrypted here. None of them is served, or was removed.
    pub(crate) sealed: BTreeMap<BucketName, BucketPlace>,
}
