//! A decision as header fields: `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers, in RFC 9651
//! syntax), `Retry-After`, and the older `x-ratelimit-*` for callers that know only those.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderName, HeaderValue};

use crate::decide::decision::{Decision, PolicyVerdict, TierVerdict};
use crate::decide::wait::Wait;
use crate::policy::{Mode, PolicyId};
use crate::quota::{self, Field, Quota, QuotaPolicy};

/// Of all policies that decide on a request.
const USUAL_TIERS: usize = 4;

/// Whole seconds, rounded up: who waits a little less is refused again.
pub fn seconds_up(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

impl Decision {
    /// The fields for an answer: those of the enforced tiers, as far as they fit; `Retry-After` when it was refused and
    /// waiting helps.
    pub fn fields(&self) -> Vec<Field> {
        let quota =
            |(policy, tier): (_, &TierVerdict)| Quota { policy, left: tier.shown_remaining(), reset_s: reset_s(tier) };
        let mut fields = quota::fields(&self.enforced_tiers().into_iter().map(quota).collect::<Vec<_>>());
        if let Some(wait) = self.retry_after() {
            fields.push(field(RETRY_AFTER, &seconds_up(wait).to_string()));
        }
        fields
    }

    /// `x-ratelimit-limit`, `-remaining` and `-reset` of the tier that has the least left; without the last where
    /// nothing is left, and it isn't known for how long.
    pub fn older_fields(&self) -> Vec<Field> {
        let Some((_, tier)) = self.enforced_tiers().into_iter().min_by_key(|(_, tier)| tier.shown_remaining()) else {
            return Vec::new();
        };
        let left = tier.shown_remaining();
        let mut fields = vec![
            field(HeaderName::from_static("x-ratelimit-limit"), &tier.limit.to_string()),
            field(HeaderName::from_static("x-ratelimit-remaining"), &left.to_string()),
        ];
        // Where nothing is left, 0 would say that there is more now.
        if let Some(reset_s) = reset_s(tier).or((left > 0).then_some(0)) {
            fields.push(field(HeaderName::from_static("x-ratelimit-reset"), &reset_s.to_string()));
        }
        fields
    }

    /// What is left of the tier that has the least left; `None` without enforced tiers.
    pub fn least_remaining(&self) -> Option<u64> {
        self.enforced_tiers().into_iter().map(|(_, tier)| tier.shown_remaining()).min()
    }

    /// Of a policy that was asked for several scopes, each tier is there once: where least is left.
    fn enforced_tiers(&self) -> Vec<(&QuotaPolicy, &TierVerdict)> {
        let mut enforced: Vec<(&QuotaPolicy, &TierVerdict)> = Vec::with_capacity(USUAL_TIERS);
        let mut places: HashMap<(&PolicyId, usize), usize> = HashMap::new();
        // Of one policy, no tier comes twice.
        let may_repeat = self.policies.len() > 1;
        for PolicyVerdict { policy, tiers, .. } in &self.policies {
            if policy.settings().mode == Mode::Enforce {
                for (at, (quota, tier)) in policy.quotas.iter().zip(tiers).enumerate() {
                    let next = enforced.len();
                    let place = if may_repeat { *places.entry((policy.id(), at)).or_insert(next) } else { next };
                    match enforced.get_mut(place) {
                        Some((_, known)) if is_less_left(tier, known) => *known = tier,
                        Some(_) => {}
                        None => enforced.push((quota, tier)),
                    }
                }
            }
        }
        enforced
    }
}

fn is_less_left(tier: &TierVerdict, than: &TierVerdict) -> bool {
    let rank = |tier: &TierVerdict| (tier.shown_remaining(), Reverse(tier.reset));
    rank(tier) < rank(than)
}

/// A queue isn't emptied at a known time: there is the wait of a refusal alone.
fn reset_s(tier: &TierVerdict) -> Option<u64> {
    match (tier.kind, tier.wait) {
        ("backlog", Wait::After(wait)) => Some(seconds_up(wait)),
        ("backlog", Wait::Ready | Wait::Never) => None,
        _ => Some(seconds_up(tier.reset)),
    }
}

/// Names are those of policies and values are numbers, so that nothing is left out.
fn field(name: HeaderName, value: &str) -> Field {
    (name, HeaderValue::try_from(value).unwrap_or(HeaderValue::from_static("")))
}

#[cfg(test)]
mod tests;
