//! A policy: the requests it matches, the key of its counters, and its tiers.

mod bad_policy;
pub(crate) mod calendar;
pub(crate) mod consistency;
pub(crate) mod cost;
mod fingerprint;
mod keep;
pub(crate) mod keys;
pub(crate) mod matching;
pub(crate) mod policies;
mod policy_id;
mod policy_settings;
pub(crate) mod request;
pub(crate) mod scope;
pub(crate) mod tier;
pub(crate) mod wire;

use std::time::Duration;

pub(crate) use crate::policy::bad_policy::MOST_TIERS;
use crate::policy::bad_policy::SCOPES;
pub use crate::policy::bad_policy::{BadPolicy, PolicyFault};
use crate::policy::consistency::{Consistency, OnStoreError};
use crate::policy::cost::Cost;
use crate::policy::keep::keep_ms;
use crate::policy::keys::{ScopeKeys, ScopeName};
use crate::policy::matching::Variables;
pub use crate::policy::policy_id::{BadPolicyId, PolicyId};
pub(crate) use crate::policy::policy_settings::MAX_SCOPES;
pub use crate::policy::policy_settings::{Mode, PolicySettings};
use crate::policy::request::Request;
use crate::policy::scope::KeyPart;
use crate::policy::tier::{Align, LEAST_LEASED, Tier, TierKind};
use crate::quota::QuotaPolicy;

/// Maximum number of parts of a key, as each part makes the names of scopes longer.
pub(crate) const MOST_KEY_PARTS: usize = 16;

/// A validated policy.
#[derive(Clone, Debug)]
pub struct Policy {
    settings: PolicySettings,
    tiers_in_store: Vec<Tier>,
    /// The tiers as `RateLimit` headers show them.
    pub(crate) quotas: Vec<QuotaPolicy>,
    fingerprint: u32,
    keep_ms: u64,
}

impl Policy {
    /// Checks the settings against each other.
    ///
    /// # Errors
    /// All settings that can't be enforced together, or not exactly.
    pub fn new(settings: PolicySettings) -> Result<Self, BadPolicy> {
        let faults = faults_of(&settings);
        if !faults.is_empty() {
            return Err(BadPolicy::new(faults));
        }
        let tiers_in_store = settings.tiers_in_store();
        let (fingerprint, keep_ms) = (fingerprint::fingerprint(&tiers_in_store), keep_ms(&settings, &tiers_in_store));
        Ok(Self { quotas: settings.quotas(), settings, tiers_in_store, fingerprint, keep_ms })
    }

    /// A policy for the tiers of a pace, which need no validation: without spread, and decided only in Redis.
    pub(crate) fn of_pace(tiers: Vec<Tier>) -> Self {
        let settings = PolicySettings::new(PolicyId::pace(), tiers);
        let (fingerprint, keep_ms) = (fingerprint::fingerprint(&settings.tiers), keep_ms(&settings, &settings.tiers));
        Self { tiers_in_store: settings.tiers.clone(), quotas: Vec::new(), settings, fingerprint, keep_ms }
    }

    pub fn settings(&self) -> &PolicySettings {
        &self.settings
    }

    pub fn id(&self) -> &PolicyId {
        &self.settings.id
    }

    pub fn tiers(&self) -> &[Tier] {
        &self.settings.tiers
    }

    /// The tiers as Redis enforces them.
    pub(crate) fn tiers_in_store(&self) -> &[Tier] {
        &self.tiers_in_store
    }

    pub(crate) fn is_active(&self) -> bool {
        self.settings.enabled && self.settings.mode != Mode::Off
    }

    pub(crate) fn has_leases(&self) -> bool {
        self.tiers().iter().any(|tier| *tier.kind() == TierKind::Concurrent)
    }

    pub(crate) fn is_shadow(&self) -> bool {
        self.settings.mode == Mode::Shadow
    }

    /// How long a state is needed, in ms.
    pub(crate) fn keep_ms(&self) -> u64 {
        self.keep_ms
    }

    /// Differs between different tiers: a state with another fingerprint is converted.
    pub(crate) fn fingerprint(&self) -> u32 {
        self.fingerprint
    }

    /// The scope of a request.
    pub(crate) fn scope(&self, request: &Request<'_>, variables: &Variables, keys: &ScopeKeys) -> ScopeName {
        let parts = self.settings.key.iter().map(|part| part.of(request, &self.settings.matching, variables));
        keys.scope(self.id(), &parts.collect::<Vec<_>>(), self.settings.max_scopes)
    }
}

/// All faults, in the order of the members.
pub(crate) fn faults_of(settings: &PolicySettings) -> Vec<PolicyFault> {
    let mut faults = Vec::new();
    for (part, key) in settings.key.iter().enumerate() {
        if let KeyPart::Path(name) = key
            && !settings.matching.path().is_some_and(|template| template.has_variable(name))
        {
            faults.push(PolicyFault::UnknownVariable { part, name: name.clone() });
        }
    }
    match settings.tiers.len() {
        0 => faults.push(PolicyFault::NoTiers),
        count if count > MOST_TIERS => faults.push(PolicyFault::ManyTiers(count)),
        _ => {
            let tiers = settings.tiers.iter().zip(settings.tiers_in_store()).enumerate();
            faults.extend(tiers.flat_map(|(at, (rule, in_store))| faults_of_tier(settings, at, rule, &in_store)));
        }
    }
    if !SCOPES.contains(&settings.max_scopes) {
        faults.push(PolicyFault::Scopes);
    }
    if let Consistency::Async { sync } = settings.consistency
        && !(Duration::from_millis(10)..=Duration::from_mins(1)).contains(&sync)
    {
        faults.push(PolicyFault::Sync(sync));
    }
    faults
}

fn faults_of_tier(settings: &PolicySettings, tier: usize, rule: &Tier, in_store: &Tier) -> Vec<PolicyFault> {
    let mut faults = Vec::new();
    if let TierKind::Fixed(Align::Epoch { spread: Some(spread) }) = rule.kind()
        && !settings.key.contains(spread)
    {
        faults.push(PolicyFault::SpreadNotInKey { tier, spread: spread.clone() });
    }
    let kind = rule.kind().as_str();
    faults.extend(match (settings.consistency, rule.kind()) {
        (Consistency::Leased, TierKind::Bucket { burst }) if *burst < LEAST_LEASED => {
            Some(PolicyFault::SmallLeasedBurst { tier, burst: *burst })
        }
        (Consistency::Leased, TierKind::Bucket { .. } | TierKind::Fixed(_)) => None,
        (Consistency::Leased, _) => Some(PolicyFault::NotLeasable { tier, kind }),
        (Consistency::Async { .. }, TierKind::Log { .. } | TierKind::Concurrent | TierKind::Backlog) => {
            Some(PolicyFault::NotAsync { tier, kind })
        }
        (_, TierKind::Backlog) if settings.on_store_error == OnStoreError::Local => {
            Some(PolicyFault::BacklogNotLocal { tier })
        }
        _ => None,
    });
    if let Cost::Constant(cost) = settings.cost
        && cost > in_store.most()
        // The smaller fault is already reported.
        && !matches!(faults[..], [.., PolicyFault::SmallLeasedBurst { .. }])
    {
        faults.push(PolicyFault::CostNeverPasses { tier, cost, most: in_store.most() });
    }
    faults
}

#[cfg(test)]
mod tests;
