//! What there is work for, as far as a key may read it.

use dripfeed_auth::Caller;
use dripfeed_bucket::Slots;
use tonic::Status;

use super::asked::Asked;
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

    /// The caller, if it may read the buckets.
    pub(super) async fn allows(&self, asked: &Asked) -> Result<Caller, Status> {
        asked.buckets(&self.access, &self.buckets).await.map(|(caller, _)| caller)
    }

    /// Checks the key each time: it may be revoked while a stream is open.
    pub(super) async fn slots(&self, asked: &Asked) -> Result<Slots, Status> {
        let (caller, buckets) = asked.buckets(&self.access, &self.buckets).await?;
        let turn = self.access.lookup_turn(asked.waiter(&caller)).await;
        in_turn(turn, async move { Slots::most_of(buckets).await.map_err(|error| unread_bucket(&error)) }).await
    }
}
