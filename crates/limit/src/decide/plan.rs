//! The scopes that apply to one request, packed for scripts.

use std::sync::Arc;

use crate::decide::key_index::KeyIndex;
use crate::kinds;
use crate::policy::keys::{ScopeKeys, ScopeName};
use crate::policy::policies::Policies;
use crate::policy::request::Request;
use crate::policy::tier::{Align, Tier, TierKind};
use crate::policy::wire::{Packed, Phase};
use crate::policy::{Policy, PolicyId};

const SHADOW: u64 = 1;
const LOST_IS_FULL: u64 = 2;
const GOES_AT_A_SPEED: u64 = 4;
/// How long the state of a pace is kept at least. A missing state counts as used up, so an earlier expiry would delay
/// the first call after an idle time.
const LOST_MS: u64 = 24 * 3_600_000;

/// Bytes of a scope in a packed plan: the part of its request, and of its policy, of which few need more.
const HEAD_BYTES: usize = 22;
const POLICY_BYTES: usize = 106;

/// The scopes of one request, one for each policy that applies.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The id of the leases that the charge takes.
    id: u64,
    scopes: Vec<Scope>,
}

/// The scope of a request in one policy.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) policy: Arc<Policy>,
    pub(crate) key: String,
    values: Vec<String>,
    pub(crate) cost: u64,
    /// One of `share` calls that are left is leased in advance; 0: none.
    share: u16,
    lost_is_full: bool,
    goes_at_a_speed: bool,
}

impl Scope {
    pub(crate) fn costing(&self, cost: u64) -> Self {
        Self { cost, ..self.clone() }
    }

    /// Leases also one of `share` calls that are left after its cost.
    pub(crate) fn taking_ahead(self, share: u16) -> Self {
        Self { share, ..self }
    }

    /// The position of each tier's windows, at `now_us` of the Redis clock.
    pub(crate) fn phases(&self, now_us: u64) -> impl Iterator<Item = (&Tier, Phase)> {
        let settings = self.policy.settings();
        self.policy.tiers_in_store().iter().map(move |tier| {
            let spread = match tier.kind() {
                TierKind::Fixed(Align::Epoch { spread: Some(part) }) => {
                    settings.key.iter().position(|known| known == part).and_then(|at| self.values.get(at))
                }
                _ => None,
            };
            (tier, Phase::of(tier, spread.map(String::as_str), now_us))
        })
    }

    /// `id` is that of the leases that the charge takes.
    fn pack(&self, packed: &mut Packed, id: u64, keys: &mut KeyIndex, now_us: u64) {
        let place = keys.place(&self.key);
        packed.number(id, 7).number(place, 4).number(self.cost, 7).number(self.share.into(), 2);
        let pack = || self.pack_policy(now_us);
        match self.is_as_others().then(|| keys.number_of_policy(&self.policy, pack)).flatten() {
            Some(number) => packed.number(number, 2),
            None => {
                let policy = pack();
                packed.number(u64::try_from(policy.len()).unwrap_or(0), 2).bytes(&policy)
            }
        };
    }

    fn pack_policy(&self, now_us: u64) -> Vec<u8> {
        let mut policy = Packed::with_capacity(POLICY_BYTES);
        let shadow = if self.policy.is_shadow() { SHADOW } else { 0 };
        let lost = if self.lost_is_full { LOST_IS_FULL } else { 0 };
        let speed = if self.goes_at_a_speed { GOES_AT_A_SPEED } else { 0 };
        policy.number(shadow + lost + speed, 1).number(self.policy.fingerprint().into(), 4);
        let ttl =
            if self.lost_is_full { self.policy.keep_ms().max(LOST_MS) } else { self.policy.keep_ms() }.to_string();
        policy.number(u64::try_from(ttl.len()).unwrap_or(0), 1).bytes(ttl.as_bytes());
        for (tier, phase) in self.phases(now_us) {
            kinds::pack(&mut policy, tier, phase);
        }
        policy.into_bytes()
    }

    /// Whether the packed policy is the same for all requests.
    fn is_as_others(&self) -> bool {
        let spreads = |tier: &Tier| matches!(tier.kind(), TierKind::Fixed(Align::Epoch { spread: Some(_) }));
        !(self.lost_is_full || self.goes_at_a_speed || self.policy.tiers_in_store().iter().any(spreads))
    }
}

impl Plan {
    /// Creates the scopes of `request`: one for each policy in force.
    pub fn new(policies: &Policies, keys: &ScopeKeys, request: &Request<'_>) -> Self {
        let scope = |(policy, variables): (Arc<Policy>, _)| {
            let ScopeName { key, values } = policy.scope(request, &variables, keys);
            let cost = policy.settings().cost.of(request);
            Scope { policy, key, values, cost, share: 0, lost_is_full: false, goes_at_a_speed: false }
        };
        Self::of(policies.of(request).into_iter().map(scope).collect())
    }

    /// Creates a plan for a pace, which belongs to no request: `tiers` as [`load::pace`](crate::load::pace) returns
    /// them, with their state in `key`. A missing state of a pace was lost, and counts as used up.
    pub fn pace(tiers: Vec<Tier>, key: String) -> Self {
        let policy = Arc::new(Policy::of_pace(tiers));
        Self::of(vec![Scope {
            policy,
            key,
            values: Vec::new(),
            cost: 1,
            share: 0,
            lost_is_full: true,
            goes_at_a_speed: false,
        }])
    }

    /// Returns the same plan, for scripts that set a speed: it lowers the rate of buckets and gates, or without any of
    /// them the limit of the shortest window.
    #[must_use]
    pub fn at_a_speed(mut self) -> Self {
        for scope in &mut self.scopes {
            scope.goes_at_a_speed = true;
        }
        self
    }

    pub(crate) fn of(scopes: Vec<Scope>) -> Self {
        // Below 2^53, so that Lua represents the id exactly; 0 means no lease.
        Self { id: fastrand::u64(1..1 << 53), scopes }
    }

    pub(crate) fn with_id(id: u64, scopes: Vec<Scope>) -> Self {
        Self { id, scopes }
    }

    /// Returns whether no policy applies, so that the request is allowed without a check.
    pub fn is_empty(&self) -> bool {
        self.scopes.is_empty()
    }

    pub(crate) fn has_leases(&self) -> bool {
        self.policies().any(Policy::has_leases)
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn scopes(&self) -> &[Scope] {
        &self.scopes
    }

    pub(crate) fn into_scopes(self) -> Vec<Scope> {
        self.scopes
    }

    /// Returns the policies, in the order of the scopes in a report.
    pub fn policies(&self) -> impl Iterator<Item = &Policy> {
        self.scopes.iter().map(|scope| scope.policy.as_ref())
    }

    /// Returns the message of a policy for refused callers.
    pub fn message(&self, id: &PolicyId) -> Option<&str> {
        self.policies().find(|policy| policy.id() == id)?.settings().message.as_deref()
    }

    /// Packs the plan as an `ARGV` for the functions of [`crate::lua::FRAGMENTS`], and adds its keys to `keys`.
    /// `now_us` is an estimate of the Redis clock, around which the windows of calendars are computed.
    pub fn pack(&self, keys: &mut KeyIndex, now_us: u64) -> Vec<u8> {
        let mut packed = Packed::with_capacity(self.scopes.len() * (HEAD_BYTES + POLICY_BYTES));
        for scope in &self.scopes {
            scope.pack(&mut packed, self.id, keys, now_us);
        }
        packed.into_bytes()
    }
}
