//! Rate limits of submissions: a bucket's policies, and the list that they were parsed from.

use std::sync::Arc;

use dripfeed_limit::{Consistency, LoadError, LoadFault, OnStoreError, Policies, PolicySettings, TierKind, load};
use serde_json::Value as Json;

use crate::admission::MAX_SHARE;

/// Maximum number of policies, because each submission checks all of them.
const MOST_POLICIES: usize = 100;
/// Maximum bytes of the list as JSON, because all processes of the bucket read it after each change.
const MOST_BYTES: usize = 64 * 1024;

/// Policies that the enqueuing script can check. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct BucketLimits(Arc<ParsedLimits>);

#[derive(Debug, Default)]
struct ParsedLimits {
    policies: Policies,
    document: Vec<Json>,
}

impl BucketLimits {
    /// Reads a list of policies that is called `place` in another document.
    ///
    /// # Errors
    /// All faults with their places, including policies that the script that enqueues can't check.
    pub fn read(place: &str, items: Vec<Json>) -> Result<Self, LoadError> {
        // Checked first, so that a larger list isn't parsed.
        let faults = too_much(place, &items);
        if !faults.is_empty() {
            return Err(LoadError::new(faults));
        }
        let policies = load::list_with_checks(place, items.clone(), impossible)?;
        Ok(Self(Arc::new(ParsedLimits { policies, document: items })))
    }

    #[must_use]
    pub fn policies(&self) -> &Policies {
        &self.0.policies
    }

    /// Returns each policy as its author wrote it.
    #[must_use]
    pub fn document(&self) -> &[Json] {
        &self.0.document
    }
}

impl PartialEq for BucketLimits {
    fn eq(&self, other: &Self) -> bool {
        self.document() == other.document()
    }
}

impl Eq for BucketLimits {}

fn too_much(place: &str, items: &[Json]) -> Vec<LoadFault> {
    let (count, bytes) = (items.len(), Json::from(items).to_string().len());
    let fault = |message| LoadFault { place: place.to_owned(), message };
    let many = (count > MOST_POLICIES).then(|| fault(format!("{count} policies: use at most {MOST_POLICIES}")));
    let long = (bytes > MOST_BYTES).then(|| fault(format!("{bytes} bytes as JSON: use at most {MOST_BYTES}")));
    many.into_iter().chain(long).collect()
}

/// Faults of a valid policy that the script that enqueues can't check.
fn impossible(settings: &PolicySettings) -> Vec<LoadFault> {
    let leases = settings.tiers.iter().any(|tier| *tier.kind() == TierKind::Concurrent);
    [
        (
            settings.consistency != Consistency::Strict,
            "consistency",
            "limits of a bucket are checked in Redis, by the script that enqueues: use strict",
        ),
        (
            settings.on_store_error != OnStoreError::Closed,
            "on_store_error",
            "without Redis no job can be accepted: use closed",
        ),
        (settings.id.as_str() == MAX_SHARE, "id", "reserved for the bucket's max_share: use another id"),
        (leases, "tiers", "a submission takes no lease: use leak.max_in_flight, or backlog"),
    ]
    .into_iter()
    .filter(|(is_so, ..)| *is_so)
    .map(|(_, member, why)| LoadFault {
        place: member.to_owned(),
        message: format!("{why} (policy `{}`)", settings.id),
    })
    .collect()
}
