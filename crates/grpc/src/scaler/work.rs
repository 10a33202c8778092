//! The work of the buckets that a key may read.

use dripfeed_auth::Caller;
use dripfeed_bucket::Slots;
use tonic::Status;

use super::asked::TriggerQuery;
use super::known_buckets::KnownBuckets;
use crate::access::{Access, in_turn};
use crate::refusal::unread_bucket;

#[derive(Clone)]
pub(super) struct Work {
    buckets: KnownBuckets,
    access: Access,
}

impl Work {
    pub(super) const fn new(buckets: KnownBuckets, access: Access) -> Self {
        Self { buckets, access }
    }

    /// Returns the caller, if it may read the buckets.
    pub(super) async fn allows(&self, query: &TriggerQuery) -> Result<Caller, Status> {
        query.buckets(&self.access, &self.buckets).await.map(|(caller, _)| caller)
    }

    /// Checks the key each time, because it may be revoked while a stream is open.
    pub(super) async fn slots(&self, query: &TriggerQuery) -> Result<Slots, Status> {
        let (caller, buckets) = query.buckets(&self.access, &self.buckets).await?;
        let turn = self.access.lookup_turn(query.waiter(&caller)).await;
        in_turn(turn, async move { Slots::max_of(buckets).await.map_err(|error| unread_bucket(&error)) }).await
    }
}
