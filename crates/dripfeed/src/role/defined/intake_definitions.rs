//! What the API needs to know of definitions.

use std::sync::Arc;

use dripfeed_bucket::{BucketError, BucketSettings, Definition, DefinitionBounds};
use dripfeed_intake::{DefinitionError, Definitions};
use dripfeed_job::BucketName;
use dripfeed_store::Durability;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value as Json;

use super::DefinedBuckets;

impl Definitions for DefinedBuckets {
    fn is_on(&self) -> bool {
        self.served().is_on()
    }

    fn is_configured(&self, bucket: &str) -> bool {
        self.served().is_configured(bucket)
    }

    fn get(&self, bucket: &str) -> Option<Arc<Definition>> {
        self.served().get(bucket)
    }

    fn read(&self, bucket: &BucketName, definition: &Json) -> Result<BucketSettings, Vec<DefinitionError>> {
        let reader = self.served().reader.clone();
        let error =
            |fault: crate::settings::DefinitionFault| DefinitionError { place: fault.place, message: fault.message };
        let read = reader.read(bucket, definition).map_err(|faults| faults.into_iter().map(error).collect());
        read.map(|bucket| bucket.settings(Durability::Process))
    }

    fn has_private_address<'a>(&'a self, bucket: &'a BucketName, definition: &'a Json) -> BoxFuture<'a, bool> {
        async move {
            let reader = self.served().reader.clone();
            match reader.read(bucket, definition) {
                Ok(bucket) => bucket.upstream.has_private_address().await,
                Err(_) => false,
            }
        }
        .boxed()
    }

    fn bounds(&self) -> DefinitionBounds {
        self.served().reader.define.bounds
    }

    fn follow(&self) -> BoxFuture<'_, Result<(), BucketError>> {
        Self::follow(self).boxed()
    }

    fn ask(&self) -> BoxFuture<'_, Result<(), BucketError>> {
        Self::ask(self).boxed()
    }
}
