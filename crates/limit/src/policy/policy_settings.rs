//! A policy before validation.

use serde::Serialize;

use crate::policy::consistency::{Consistency, OnStoreError};
use crate::policy::cost::Cost;
use crate::policy::matching::Match;
use crate::policy::policy_id::PolicyId;
use crate::policy::scope::KeyPart;
use crate::policy::tier::{Tier, TierKind};
use crate::quota::{QuotaPolicy, Window};

/// The default of `max_scopes`: of a thousand values at once, one in a few hundred shares its counter. At 150 B each,
/// all counters take 40 MB in Redis.
pub(crate) const MAX_SCOPES: u64 = 1 << 18;

/// The settings of a policy, which [`Policy::new`](super::Policy::new) validates.
#[derive(Clone, Debug)]
pub struct PolicySettings {
    pub id: PolicyId,
    pub enabled: bool,
    pub mode: Mode,
    pub matching: Match,
    /// Empty: one scope for all requests.
    pub key: Vec<KeyPart>,
    pub cost: Cost,
    /// A request is allowed if all tiers allow it.
    pub tiers: Vec<Tier>,
    pub consistency: Consistency,
    pub on_store_error: OnStoreError,
    /// The message for a refused caller.
    pub message: Option<String>,
    /// Maximum number of counters for values from requests (headers, fields, addresses, path variables), per
    /// combination of the other parts of the key. Further values share counters, so together they get the limit of one.
    pub max_scopes: u64,
}

impl PolicySettings {
    /// Creates an enforced policy for all requests, with one scope.
    pub fn new(id: PolicyId, tiers: Vec<Tier>) -> Self {
        Self {
            id,
            enabled: true,
            mode: Mode::Enforce,
            matching: Match::default(),
            key: Vec::new(),
            cost: Cost::default(),
            tiers,
            consistency: Consistency::default(),
            on_store_error: OnStoreError::default(),
            message: None,
            max_scopes: MAX_SCOPES,
        }
    }
}

impl PolicySettings {
    /// The tiers as Redis enforces them.
    pub(super) fn tiers_in_store(&self) -> Vec<Tier> {
        match self.consistency {
            Consistency::Leased => self.tiers.iter().map(Tier::held_back).collect(),
            Consistency::Strict | Consistency::Async { .. } => self.tiers.clone(),
        }
    }

    /// The tiers as `RateLimit` headers show them, with the policy's id as name, and a number if there are several.
    pub(super) fn quotas(&self) -> Vec<QuotaPolicy> {
        let Self { id, tiers, .. } = self;
        let name = |at: usize| if tiers.len() > 1 { format!("{id}:{}", at + 1) } else { id.to_string() };
        let quota = |(at, tier): (usize, &Tier)| QuotaPolicy::new(&name(at), tier.limit(), window(tier));
        tiers.iter().enumerate().map(quota).collect()
    }
}

/// The window of a tier in whole seconds, if it has any.
fn window(tier: &Tier) -> Window {
    match tier.kind() {
        TierKind::Concurrent => Window::AtOnce,
        TierKind::Backlog => Window::Unnamed,
        _ if tier.period().subsec_nanos() == 0 => Window::Seconds(tier.period().as_secs()),
        _ => Window::Unnamed,
    }
}

/// Whether a policy is enforced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    #[default]
    Enforce,
    /// Evaluated and counted, but never refuses.
    Shadow,
    /// Disabled.
    Off,
}
