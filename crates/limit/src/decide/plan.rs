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
/// A missing state that counts as used up must outlive quiet times, or each would end with a wait.
const LOST_MS: u64 = 24 * 3_600_000;

/// Of a scope in a packed plan: what is of its request, and room for what is of its policy, which few need more of.
const HEAD_BYTES: usize = 22;
const POLICY_BYTES: usize = 106;

/// The scopes of one request, a policy each.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The id of the leases that a charge takes.
    id: u64,
    scopes: Vec<Scope>,
}

/// One policy's scope of a request.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) policy: Arc<Policy>,
    pub(crate) key: String,
    values: Vec<String>,
    pub(crate) cost: u64,
    /// One of this many that are left is taken ahead; 0: none.
    share: u16,
    lost_is_full: bool,
    goes_at_a_speed: bool,
}

impl Scope {
    pub(crate) fn costing(&self, cost: u64) -> Self {
        Self { cost, ..self.clone() }
    }

    /// Takes one of `share` that are left beyond its cost.
    pub(crate) fn taking_ahead(self, share: u16) -> Self {
        Self { share, ..self }
    }

    /// How the windows of each tier lie, at `now_us` of the Redis clock.
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

    /// `id`: of the leases that it takes.
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

    /// Whether what is packed of its policy is the same for all requests.
    fn is_as_others(&self) -> bool {
        let spreads = |tier: &Tier| matches!(tier.kind(), TierKind::Fixed(Align::Epoch { spread: Some(_) }));
        !(self.lost_is_full || self.goes_at_a_speed || self.policy.tiers_in_store().iter().any(spreads))
    }
}

impl Plan {
    /// The scopes of `request`: one for each policy in force.
    pub fn new(policies: &Policies, keys: &ScopeKeys, request: &Request<'_>) -> Self {
        let scope = |(policy, variables): (Arc<Policy>, _)| {
            let ScopeName { key, values } = policy.scope(request, &variables, keys);
            let cost = policy.settings().cost.of(request);
            Scope { policy, key, values, cost, share: 0, lost_is_full: false, goes_at_a_speed: false }
        };
        Self::of(policies.of(request).into_iter().map(scope).collect())
    }

    /// A plan for a pace, which isn't anybody's request: `tiers` as [`load::pace`](crate::load::pace) reads them, with
    /// their state in `key`. What a pace has consumed is never forgotten: a state that is missing was lost, and counts
    /// as used up.
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

    /// The same plan, for scripts that say at what speed it goes: buckets and gates let less through in the same time,
    /// or where none exists the shortest window.
    #[must_use]
    pub fn at_a_speed(mut self) -> Self {
        for scope in &mut self.scopes {
            scope.goes_at_a_speed = true;
        }
        self
    }

    pub(crate) fn of(scopes: Vec<Scope>) -> Self {
        // As many bits as a double holds; 0 is no lease.
        Self { id: fastrand::u64(1..1 << 53), scopes }
    }

    pub(crate) fn with_id(id: u64, scopes: Vec<Scope>) -> Self {
        Self { id, scopes }
    }

    /// No policy is in force: everything passes, and there is nothing to ask.
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

    /// The policies, in the order of the scopes in a report.
    pub fn policies(&self) -> impl Iterator<Item = &Policy> {
        self.scopes.iter().map(|scope| scope.policy.as_ref())
    }

    /// The message of a policy, for the refused.
    pub fn message(&self, id: &PolicyId) -> Option<&str> {
        self.policies().find(|policy| policy.id() == id)?.settings().message.as_deref()
    }

    /// The plan as an `ARGV` for the functions of [`crate::lua::FRAGMENTS`]; its keys are added to `keys`. `now_us` is
    /// the Redis clock as far as it is known: calendars are laid around it.
    pub fn pack(&self, keys: &mut KeyIndex, now_us: u64) -> Vec<u8> {
        let mut packed = Packed::with_capacity(self.scopes.len() * (HEAD_BYTES + POLICY_BYTES));
        for scope in &self.scopes {
            scope.pack(&mut packed, self.id, keys, now_us);
        }
        packed.into_bytes()
    }
}
