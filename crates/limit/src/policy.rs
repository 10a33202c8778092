//! A policy: which requests, counted by what, may do how much.

pub(crate) mod calendar;
pub(crate) mod consistency;
pub(crate) mod cost;
mod fingerprint;
pub(crate) mod keys;
pub(crate) mod matching;
pub(crate) mod policies;
mod policy_id;
pub(crate) mod request;
pub(crate) mod scope;
pub(crate) mod tier;
pub(crate) mod wire;

use std::ops::RangeInclusive;
use std::time::Duration;

use serde::Serialize;
use thiserror::Error;

use crate::policy::consistency::{Consistency, OnStoreError};
use crate::policy::cost::Cost;
use crate::policy::keys::{ScopeKeys, ScopeName};
use crate::policy::matching::{Match, Variables};
pub use crate::policy::policy_id::{BadPolicyId, PolicyId};
use crate::policy::request::Request;
use crate::policy::scope::KeyPart;
use crate::policy::tier::{Align, LEAST_LEASED, Tier, TierKind};

/// Each costs time in the script and bytes in each scope.
pub(crate) const MOST_TIERS: usize = 16;
/// Each part makes the name of every scope longer.
pub(crate) const MOST_KEY_PARTS: usize = 16;
/// As many that of a thousand values at once one in a few hundred shares its count; at 150 B each 40 MB in Redis.
pub(crate) const MAX_SCOPES: u64 = 1 << 18;
const SCOPES: RangeInclusive<u64> = 1..=1 << 24;
const LONGEST_SYNC: Duration = Duration::from_mins(1);

/// A policy as its author writes it: plain data. [`Policy::new`] checks it.
#[derive(Clone, Debug)]
pub struct PolicySettings {
    pub id: PolicyId,
    /// False: as if it weren't there.
    pub enabled: bool,
    pub mode: Mode,
    pub matching: Match,
    /// Empty: one scope for all.
    pub key: Vec<KeyPart>,
    pub cost: Cost,
    /// All must pass.
    pub tiers: Vec<Tier>,
    pub consistency: Consistency,
    pub on_store_error: OnStoreError,
    /// For the refused caller.
    pub message: Option<String>,
    /// The most counts for what requests bring (headers, fields, addresses, variables of the path), for each of the
    /// names that stand beside it in the key. Values beyond that share them: they may pass less than each alone, and
    /// never more.
    pub max_scopes: u64,
}

impl PolicySettings {
    /// An enforced policy for all requests, in one scope.
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

/// What a policy's verdict is good for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    #[default]
    Enforce,
    /// Judged and counted, never heeded.
    Shadow,
    /// As if it weren't there.
    Off,
}

/// The broken rule, and with [`BadPolicy::place`] where.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BadPolicy {
    #[error("a policy without tiers limits nothing: give it at least one")]
    NoTiers,
    #[error("{0} tiers: use at most {MOST_TIERS}")]
    ManyTiers(usize),
    #[error("a cost of {cost} never passes this tier, which lets {most} through at once")]
    CostNeverPasses { tier: usize, cost: u64, most: u64 },
    #[error("the path template of `match` has no variable `{name}`")]
    UnknownVariable { part: usize, name: String },
    #[error("windows can't be spread by `{spread}`, which isn't part of the policy's key")]
    SpreadNotInKey { tier: usize, spread: KeyPart },
    #[error("`leased` can't take ahead of the kind `{kind}`: use bucket or fixed, or consistency strict")]
    NotLeasable { tier: usize, kind: &'static str },
    #[error(
        "a burst of {burst} is too small for `leased`, which holds back the larger part of it: use at least \
         {LEAST_LEASED}"
    )]
    SmallLeasedBurst { tier: usize, burst: u64 },
    #[error("`async` can't count the kind `{kind}`: use bucket, gate, fixed or sliding, or consistency strict")]
    NotAsync { tier: usize, kind: &'static str },
    #[error("`backlog` looks at Redis alone: use consistency strict and on_store_error closed or open")]
    BacklogNotLocal { tier: usize },
    #[error("max_scopes is out of range: use 1 to {}", *SCOPES.end())]
    Scopes,
    #[error("a sync of {} is out of range: use 10ms to 1m", dripfeed_job::duration::show(*.0))]
    Sync(Duration),
}

impl BadPolicy {
    /// The member of the policy that it is about.
    pub fn place(&self) -> String {
        match self {
            Self::NoTiers | Self::ManyTiers(_) => "tiers".to_owned(),
            Self::CostNeverPasses { tier, .. }
            | Self::SpreadNotInKey { tier, .. }
            | Self::NotLeasable { tier, .. }
            | Self::SmallLeasedBurst { tier, .. }
            | Self::NotAsync { tier, .. }
            | Self::BacklogNotLocal { tier } => format!("tiers[{tier}]"),
            Self::UnknownVariable { part, .. } => format!("key[{part}]"),
            Self::Scopes => "max_scopes".to_owned(),
            Self::Sync(_) => "sync".to_owned(),
        }
    }
}

/// A policy that was checked.
#[derive(Clone, Debug)]
pub struct Policy {
    settings: PolicySettings,
    tiers_in_store: Vec<Tier>,
    fingerprint: u32,
    keep_ms: u64,
}

impl Policy {
    /// Checks the settings against each other.
    ///
    /// # Errors
    /// When they can't be enforced together, or not exactly.
    pub fn new(settings: PolicySettings) -> Result<Self, BadPolicy> {
        match settings.tiers.len() {
            0 => return Err(BadPolicy::NoTiers),
            count if count > MOST_TIERS => return Err(BadPolicy::ManyTiers(count)),
            _ => {}
        }
        for (part, key) in settings.key.iter().enumerate() {
            if let KeyPart::Path(name) = key
                && !settings.matching.path().is_some_and(|template| template.has_variable(name))
            {
                return Err(BadPolicy::UnknownVariable { part, name: name.clone() });
            }
        }
        for (tier, rule) in settings.tiers.iter().enumerate() {
            check_tier(&settings, tier, rule)?;
        }
        let tiers_in_store: Vec<Tier> = match settings.consistency {
            Consistency::Leased => settings.tiers.iter().map(Tier::held_back).collect(),
            Consistency::Strict | Consistency::Async { .. } => settings.tiers.clone(),
        };
        for (tier, rule) in tiers_in_store.iter().enumerate() {
            if let Cost::Constant(cost) = settings.cost
                && cost > rule.most()
            {
                return Err(BadPolicy::CostNeverPasses { tier, cost, most: rule.most() });
            }
        }
        if !SCOPES.contains(&settings.max_scopes) {
            return Err(BadPolicy::Scopes);
        }
        if let Consistency::Async { sync } = settings.consistency
            && !(Duration::from_millis(10)..=LONGEST_SYNC).contains(&sync)
        {
            return Err(BadPolicy::Sync(sync));
        }
        let fingerprint = fingerprint::fingerprint(&tiers_in_store);
        let keep_ms = keep_ms(&settings, &tiers_in_store);
        Ok(Self { settings, tiers_in_store, fingerprint, keep_ms })
    }

    /// Of tiers that need no more than there is: without a part to spread windows by, in Redis alone.
    pub(crate) fn of_pace(tiers: Vec<Tier>) -> Self {
        let settings = PolicySettings::new(PolicyId::pace(), tiers);
        let (fingerprint, keep_ms) = (fingerprint::fingerprint(&settings.tiers), keep_ms(&settings, &settings.tiers));
        Self { tiers_in_store: settings.tiers.clone(), settings, fingerprint, keep_ms }
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

    /// The tiers as Redis judges them.
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

    /// How long a state has a meaning, in ms.
    pub(crate) fn keep_ms(&self) -> u64 {
        self.keep_ms
    }

    /// Reports these tiers from others: a state written under another fingerprint is converted.
    pub(crate) fn fingerprint(&self) -> u32 {
        self.fingerprint
    }

    /// The scope of a request.
    pub(crate) fn scope(&self, request: &Request<'_>, variables: &Variables, keys: &ScopeKeys) -> ScopeName {
        let parts = self.settings.key.iter().map(|part| part.of(request, &self.settings.matching, variables));
        keys.scope(self.id(), &parts.collect::<Vec<_>>(), self.settings.max_scopes)
    }
}

/// From used up to all left, in the tier that takes longest; as much again for what was counted beyond the limit; and a
/// little for a clock that was put back.
fn keep_ms(settings: &PolicySettings, tiers: &[Tier]) -> u64 {
    let refills = || tiers.iter().map(Tier::refill_us);
    let (longest, shortest) = (refills().max().unwrap_or(0), refills().min().unwrap_or(0));
    let beyond = if matches!(settings.consistency, Consistency::Async { .. }) { longest } else { 0 };
    (longest + beyond + shortest).div_ceil(1_000) + 1
}

fn check_tier(settings: &PolicySettings, tier: usize, rule: &Tier) -> Result<(), BadPolicy> {
    if let TierKind::Fixed(Align::Epoch { spread: Some(spread) }) = rule.kind()
        && !settings.key.contains(spread)
    {
        return Err(BadPolicy::SpreadNotInKey { tier, spread: spread.clone() });
    }
    let kind = rule.kind().as_str();
    match (settings.consistency, rule.kind()) {
        (Consistency::Leased, TierKind::Bucket { burst }) if *burst < LEAST_LEASED => {
            Err(BadPolicy::SmallLeasedBurst { tier, burst: *burst })
        }
        (Consistency::Leased, TierKind::Bucket { .. } | TierKind::Fixed(_)) => Ok(()),
        (Consistency::Leased, _) => Err(BadPolicy::NotLeasable { tier, kind }),
        (Consistency::Async { .. }, TierKind::Log { .. } | TierKind::Concurrent | TierKind::Backlog) => {
            Err(BadPolicy::NotAsync { tier, kind })
        }
        (_, TierKind::Backlog) if settings.on_store_error == OnStoreError::Local => {
            Err(BadPolicy::BacklogNotLocal { tier })
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn settings(tiers: Vec<Tier>) -> PolicySettings {
        PolicySettings::new("a".parse().unwrap(), tiers)
    }

    fn gate() -> Tier {
        Tier::gate(SECOND).unwrap()
    }

    fn broken(settings: PolicySettings) -> (String, BadPolicy) {
        let bad = Policy::new(settings).unwrap_err();
        (bad.place(), bad)
    }

    #[test]
    fn each_broken_rule_is_named_with_its_place() {
        assert_eq!(broken(settings(vec![])).1, BadPolicy::NoTiers);
        assert_eq!(broken(settings(vec![gate(); 17])).1, BadPolicy::ManyTiers(17));

        let costly = PolicySettings { cost: Cost::Constant(2), ..settings(vec![gate()]) };
        assert_eq!(broken(costly), ("tiers[0]".to_owned(), BadPolicy::CostNeverPasses { tier: 0, cost: 2, most: 1 }));

        let key = vec![KeyPart::Caller, KeyPart::Path("org".to_owned())];
        let unknown = PolicySettings { key, ..settings(vec![gate()]) };
        let bad = BadPolicy::UnknownVariable { part: 1, name: "org".to_owned() };
        assert_eq!(broken(unknown), ("key[1]".to_owned(), bad));

        let spread = Tier::fixed(1, SECOND, Align::Epoch { spread: Some(KeyPart::Tenant) }).unwrap();
        assert!(matches!(broken(settings(vec![gate(), spread])).1, BadPolicy::SpreadNotInKey { tier: 1, .. }));

        let leased = |tier| PolicySettings { consistency: Consistency::Leased, ..settings(vec![tier]) };
        assert!(matches!(broken(leased(gate())).1, BadPolicy::NotLeasable { kind: "gate", .. }));
        let small = Tier::bucket(10, SECOND, 7).unwrap();
        assert_eq!(broken(leased(small)).1, BadPolicy::SmallLeasedBurst { tier: 0, burst: 7 });

        let log = Tier::log(1, SECOND, Duration::ZERO, false).unwrap();
        let counted = |tier, sync| PolicySettings { consistency: Consistency::Async { sync }, ..settings(vec![tier]) };
        assert!(matches!(broken(counted(log, SECOND)).1, BadPolicy::NotAsync { kind: "log", .. }));
        assert_eq!(broken(counted(gate(), Duration::ZERO)).1, BadPolicy::Sync(Duration::ZERO));
    }

    #[test]
    fn ids_are_plain() {
        for id in ["put-product", "a", "A.b_c-9"] {
            assert_eq!(id.parse::<PolicyId>().unwrap().to_string(), id);
        }
        for id in ["", "a b", "a:b", "{a}", &"x".repeat(65)] {
            assert!(id.parse::<PolicyId>().is_err(), "{id}");
        }
    }
}
