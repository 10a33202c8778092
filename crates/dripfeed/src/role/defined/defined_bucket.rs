use std::collections::BTreeMap;
use std::sync::Arc;

use dripfeed_bucket::Definition;
use dripfeed_job::BucketName;

use crate::settings::ConfiguredBucket;

/// A definition, and what it comes to.
pub(crate) struct DefinedBucket {
    pub(crate) definition: Arc<Definition>,
    pub(crate) configured: ConfiguredBucket,
}

pub(crate) type AllDefined = BTreeMap<BucketName, Arc<DefinedBucket>>;
