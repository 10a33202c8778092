//! Checks whether the deletion of a bucket was decided.

use dripfeed_store::Script;

use crate::bucket::Bucket;
use crate::define::definition_keys::DefinitionKeys;
use crate::error::BucketError;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("deletion_is_decided", SHARED, include_str!("deletion_is_decided.lua"));

impl Bucket {
    /// Whether the deletion of this incarnation was decided, or is complete.
    pub(super) async fn deletion_is_decided(&self, incarnation: u64) -> Result<bool, BucketError> {
        let store = &self.redis_bucket.store;
        let definitions = DefinitionKeys::new(store.prefix()).definitions;
        let mut call = SCRIPT.on(&[&definitions]);
        call.arg(self.name().as_str()).arg(incarnation);
        Ok(store.clone().for_key(&definitions).run::<u8>(&call).await? == 1)
    }
}
