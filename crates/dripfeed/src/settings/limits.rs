//! A bucket's limits: policies as the limit crate reads them, less what can't be decided with the append.

use dripfeed_bucket::MAX_SHARE;
use dripfeed_limit::{Consistency, Kind, OnStoreError, Policies, Policy, load};
use serde_json::Value as Json;

use super::read::Reader;
use super::tree::Step;

/// `path` is the bucket's. None when something is wrong, which is told then.
pub(super) fn read(reader: &mut Reader<'_>, path: &[Step], items: Vec<Json>) -> Option<Policies> {
    let policies = match load::list("limits", items) {
        Ok(policies) => policies,
        Err(error) => {
            for fault in error.faults() {
                reader.fault(path, format!("{}: {}", fault.place, fault.message));
            }
            return None;
        }
    };
    let mut sound = true;
    for (number, policy) in policies.iter().enumerate() {
        for (member, why) in impossible(policy) {
            reader.fault(path, format!("limits[{number}].{member}: {why}"));
            sound = false;
        }
    }
    sound.then_some(policies)
}

/// What a policy asks for that an admission can't give: member and reason.
fn impossible(policy: &Policy) -> Vec<(&'static str, &'static str)> {
    let settings = policy.settings();
    let leases = settings.tiers.iter().any(|tier| *tier.kind() == Kind::Concurrent);
    [
        (
            settings.consistency != Consistency::Strict,
            "consistency",
            "a bucket decides its limits in Redis, with the append: use strict",
        ),
        (
            settings.on_store_error != OnStoreError::Closed,
            "on_store_error",
            "without Redis nothing can be admitted: use closed",
        ),
        (settings.id.as_str() == MAX_SHARE, "id", "in refusals this names the bucket's max_share: use another one"),
        (leases, "tiers", "a submission holds nothing that could be given back: use leak.max_in_flight, or backlog"),
    ]
    .into_iter()
    .filter_map(|(is_so, member, why)| is_so.then_some((member, why)))
    .collect()
}
