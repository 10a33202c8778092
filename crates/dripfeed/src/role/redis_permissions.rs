//! Checks periodically what the ACL of Redis permits, because it may change: a role that lacks permissions isn't ready.

use std::collections::BTreeMap;

use dripfeed_bucket::{BucketPlace, denied_at, denied_in_scripts_at, one_of_each_kind};
use dripfeed_store::{Durability, Store, StoreError};

use crate::permissions;

#[derive(Clone)]
pub(super) struct RedisPermissions {
    /// One bucket of each kind, if possible without a configured key: checks what all buckets need, not the key of
    /// each.
    places: Vec<BucketPlace>,
    durability: Durability,
    /// Whether our user may run `ACL DRYRUN`. If not, it isn't tried again, as each try adds a line to ACL LOG.
    can_dry_run: bool,
    /// The denials that were reported at the start.
    at_start: Vec<String>,
    /// The denials that were reported last, by the address of the server.
    reported: BTreeMap<String, Vec<String>>,
}

impl RedisPermissions {
    /// `denied`: the denials at the start, or `None` if Redis didn't let us check.
    pub(super) fn new(places: &[BucketPlace], durability: Durability, denied: Option<Vec<String>>) -> Self {
        let mut places: Vec<&BucketPlace> = places.iter().collect();
        places.sort_by_key(|place| place.key.is_some());
        let places = one_of_each_kind(places).into_iter().cloned().collect();
        let (can_dry_run, at_start) = (denied.is_some(), denied.unwrap_or_default());
        Self { places, durability, can_dry_run, at_start, reported: BTreeMap::new() }
    }

    /// Updates the readiness of each server, and logs denials that have changed. The denials of a server that doesn't
    /// respond stay the same.
    pub(super) async fn check(&mut self, store: &Store) {
        let mut reported = BTreeMap::new();
        for server in store.masters() {
            let address = server.address().to_string();
            let before = self.reported.remove(&address).unwrap_or_else(|| self.at_start.clone());
            let denials = match self.denied(&server).await {
                Ok(Some(denials)) => denials,
                // The connection logs that Redis is unreachable.
                Ok(None) | Err(_) => before.clone(),
            };
            server.set_acl_denied(!denials.is_empty() && !permissions::are_dispensable(&denials));
            if denials != before {
                match &denials[..] {
                    [] => tracing::info!(redis = address, "the Redis ACL grants all that is needed again"),
                    denials => permissions::log(denials, store.prefix()),
                }
            }
            reported.insert(address, denials);
        }
        self.reported = reported;
    }

    /// Returns `None` if the denials can't be determined now.
    async fn denied(&mut self, server: &Store) -> Result<Option<Vec<String>>, StoreError> {
        if self.can_dry_run {
            if let Some(denials) = denied_at(server, &self.places, self.durability).await? {
                return Ok(Some(denials));
            }
            self.can_dry_run = false;
        }
        denied_in_scripts_at(server, &self.places, self.durability).await
    }
}
