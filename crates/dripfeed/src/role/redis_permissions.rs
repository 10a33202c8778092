//! Checks periodically what the ACL of Redis permits: it may change, and a role that may not do its work isn't ready.

use std::collections::BTreeMap;

use dripfeed_bucket::{BucketPlace, denied_at, denied_in_scripts_at, one_of_each_kind};
use dripfeed_store::{Durability, Store, StoreError};

use crate::permissions;

#[derive(Clone)]
pub(super) struct RedisPermissions {
    /// One of each kind, if possible with our own keys: for what all buckets need, and not for the keys of each.
    places: Vec<BucketPlace>,
    durability: Durability,
    /// Whether Redis can be asked. Each time that it can't is a line in its ACL LOG.
    can_be_asked: bool,
    /// What was reported at the start.
    at_start: Vec<String>,
    /// What was reported last, by the address of each server.
    reported: BTreeMap<String, Vec<String>>,
}

impl RedisPermissions {
    /// `denied` at the start. None: that couldn't be asked.
    pub(super) fn new(places: &[BucketPlace], durability: Durability, denied: Option<Vec<String>>) -> Self {
        let mut places: Vec<&BucketPlace> = places.iter().collect();
        places.sort_by_key(|place| place.key.is_some());
        let places = one_of_each_kind(places).into_iter().cloned().collect();
        let (can_be_asked, at_start) = (denied.is_some(), denied.unwrap_or_default());
        Self { places, durability, can_be_asked, at_start, reported: BTreeMap::new() }
    }

    /// Notes for readiness what each server denies, and reports what wasn't known. What one that doesn't answer denies
    /// stays as it was.
    pub(super) async fn look(&mut self, store: &Store) {
        let mut reported = BTreeMap::new();
        for server in store.masters() {
            let address = server.address().to_string();
            let before = self.reported.remove(&address).unwrap_or_else(|| self.at_start.clone());
            let denials = match self.denied(&server).await {
                Ok(Some(denials)) => denials,
                // That Redis is away is reported by those who need it.
                Ok(None) | Err(_) => before.clone(),
            };
            server.deny(!denials.is_empty() && !permissions::are_dispensable(&denials));
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

    /// None: nothing can be found now.
    async fn denied(&mut self, server: &Store) -> Result<Option<Vec<String>>, StoreError> {
        if self.can_be_asked {
            if let Some(denials) = denied_at(server, &self.places, self.durability).await? {
                return Ok(Some(denials));
            }
            self.can_be_asked = false;
        }
        denied_in_scripts_at(server, &self.places, self.durability).await
    }
}
