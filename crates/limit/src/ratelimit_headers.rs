//! A decision as response headers: `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers, in RFC
//! 9651 syntax), `Retry-After`, and the older `x-ratelimit-*` for callers that support only those.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderName, HeaderValue};

use crate::decide::decision::{Decision, PolicyVerdict, TierVerdict};
use crate::decide::wait::Wait;
use crate::policy::{Mode, PolicyId};
use crate::quota::{self, Field, Quota, QuotaPolicy};

/// Usual number of tiers of all policies that apply to a request.
const USUAL_TIERS: usize = 4;

/// Returns whole seconds, rounded up, because a shorter wait would end with another refusal.
pub fn seconds_up(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

impl Decision {
    /// Returns the headers for a response: those of the enforced tiers, as many as fit; and `Retry-After` if the
    /// request was refused and waiting helps.
    pub fn fields(&self) -> Vec<Field> {
        let quota =
            |(policy, tier): (_, &TierVerdict)| Quota { policy, left: tier.shown_remaining(), reset_s: reset_s(tier) };
        let mut fields = quota::fields(&self.enforced_tiers().into_iter().map(quota).collect::<Vec<_>>());
        if let Some(wait) = self.retry_after() {
            fields.push(field(RETRY_AFTER, &seconds_up(wait).to_string()));
        }
        fields
    }

    /// Returns `x-ratelimit-limit`, `-remaining` and `-reset` of the tier with the least left. Without `-reset` if
    /// nothing is left and the time of the reset is unknown.
    pub fn older_fields(&self) -> Vec<Field> {
        let Some((_, tier)) = self.enforced_tiers().into_iter().min_by_key(|(_, tier)| tier.shown_remaining()) else {
            return Vec::new();
        };
        let left = tier.shown_remaining();
        let mut fields = vec![
            field(HeaderName::from_static("x-ratelimit-limit"), &tier.limit.to_string()),
            field(HeaderName::from_static("x-ratelimit-remaining"), &left.to_string()),
        ];
        // If nothing is left, a reset of 0 would be wrong.
        if let Some(reset_s) = reset_s(tier).or((left > 0).then_some(0)) {
            fields.push(field(HeaderName::from_static("x-ratelimit-reset"), &reset_s.to_string()));
        }
        fields
    }

    /// Returns the remaining quota of the tier with the least left; `None` without enforced tiers.
    pub fn least_remaining(&self) -> Option<u64> {
        self.enforced_tiers().into_iter().map(|(_, tier)| tier.shown_remaining()).min()
    }

    /// The enforced tiers. If a policy was checked in several scopes, each tier is listed once, with the least left.
    fn enforced_tiers(&self) -> Vec<(&QuotaPolicy, &TierVerdict)> {
        let mut enforced: Vec<(&QuotaPolicy, &TierVerdict)> = Vec::with_capacity(USUAL_TIERS);
        let mut places: HashMap<(&PolicyId, usize), usize> = HashMap::new();
        // With a single policy, no tier can occur twice.
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

/// Seconds until the reset. That of a queue is only known for a refusal, as its wait.
fn reset_s(tier: &TierVerdict) -> Option<u64> {
    match (tier.kind, tier.wait) {
        ("backlog", Wait::After(wait)) => Some(seconds_up(wait)),
        ("backlog", Wait::Ready | Wait::Never) => None,
        _ => Some(seconds_up(tier.reset)),
    }
}

/// The values are valid: they consist of ids of policies and numbers.
fn field(name: HeaderName, value: &str) -> Field {
    (name, HeaderValue::try_from(value).unwrap_or(HeaderValue::from_static("")))
}

#[cfg(test)]
mod tests;
