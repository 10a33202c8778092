//! Gives the HTTP and gRPC APIs access to bucket definitions.

use std::sync::Arc;

use dripfeed_bucket::{BucketError, BucketSettings, Definition, DefinitionBounds};
use dripfeed_grpc::NewBuckets;
use dripfeed_intake::{DefinitionError, Definitions, PreparedDefinition as Prepared};
use dripfeed_job::BucketName;
use dripfeed_store::Durability;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::Value as Json;

use super::DefinedBuckets;
use crate::settings::DefinitionFault;

impl Definitions for DefinedBuckets {
    fn is_on(&self) -> bool {
        self.0.served.lock().is_on()
    }

    fn is_configured(&self, bucket: &str) -> bool {
        self.0.served.lock().is_configured(bucket)
    }

    fn is_sealed(&self, bucket: &str) -> bool {
        self.0.served.lock().is_sealed(bucket)
    }

    fn get(&self, bucket: &str) -> Option<Arc<Definition>> {
        self.0.served.lock().get(bucket)
    }

    fn prepare(
        &self,
        bucket: &BucketName,
        document: &Json,
        before: Option<&Definition>,
    ) -> Result<Prepared, Vec<DefinitionError>> {
        let reader = self.0.served.lock().reader.clone();
        let before = before.map(|before| (&before.definition, before.sealed.as_deref()));
        let prepared = reader.prepare(bucket, document, before).map_err(errors)?;
        let settings = prepared.bucket.settings(Durability::Process);
        Ok(Prepared { definition: prepared.definition, sealed: prepared.sealed, settings })
    }

    fn place(&self, definition: &Definition) -> Option<BucketSettings> {
        let reader = self.0.served.lock().reader.clone();
        reader.place(&definition.bucket, &definition.definition)
    }

    fn has_private_address<'a>(&'a self, bucket: &'a BucketName, definition: &'a Json) -> BoxFuture<'a, bool> {
        async move {
            let reader = self.0.served.lock().reader.clone();
            match reader.read(bucket, definition, None) {
                Ok(bucket) => bucket.upstream.has_private_address().await,
                Err(_) => false,
            }
        }
        .boxed()
    }

    fn bounds(&self) -> DefinitionBounds {
        self.0.served.lock().reader.define.bounds
    }

    fn most_concurrency(&self) -> u32 {
        self.0.served.lock().reader.most_concurrency()
    }

    fn follow(&self) -> BoxFuture<'_, Result<(), BucketError>> {
        Self::follow(self).boxed()
    }

    fn ask(&self) -> BoxFuture<'_, Result<(), BucketError>> {
        Self::ask(self).boxed()
    }
}

impl NewBuckets for DefinedBuckets {
    fn ask(&self) -> BoxFuture<'_, Result<(), BucketError>> {
        async move { if self.0.served.lock().is_on() { Self::ask(self).await } else { Ok(()) } }.boxed()
    }

    fn is_sealed(&self, bucket: &str) -> bool {
        Definitions::is_sealed(self, bucket)
    }
}

fn errors(faults: Vec<DefinitionFault>) -> Vec<DefinitionError> {
    faults.into_iter().map(|fault| DefinitionError { place: fault.place, message: fault.message }).collect()
}
