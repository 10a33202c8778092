//! A decision as header fields: `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers, in RFC 9651
//! syntax), `Retry-After`, and the older `x-ratelimit-*` for callers that know only those.

use std::time::Duration;

use http::header::RETRY_AFTER;
use http::{HeaderName, HeaderValue};

use crate::decide::decision::{Decision, PolicyVerdict, TierVerdict};
use crate::policy::Mode;
use crate::quota::{self, Field, Quota, Window};

/// Whole seconds, rounded up: who waits a little less is refused again.
pub fn seconds_up(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

impl Decision {
    /// The fields for an answer: those of all enforced tiers; `Retry-After` when it was refused and waiting helps.
    pub fn fields(&self) -> Vec<Field> {
        let named = self.named_tiers();
        let mut fields = quota::fields(named.iter().map(|(name, tier)| Quota {
            name,
            most: tier.limit,
            window: window(tier),
            left: tier.shown_remaining(),
            reset_s: Some(seconds_up(tier.reset)),
        }));
        if let Some(wait) = self.retry_after() {
            fields.push(field(RETRY_AFTER, &seconds_up(wait).to_string()));
        }
        fields
    }

    /// `x-ratelimit-limit`, `-remaining` and `-reset` of the tier that has the least left.
    pub fn older_fields(&self) -> Vec<Field> {
        let Some((_, tier)) = self.named_tiers().into_iter().min_by_key(|(_, tier)| tier.shown_remaining()) else {
            return Vec::new();
        };
        vec![
            field(HeaderName::from_static("x-ratelimit-limit"), &tier.limit.to_string()),
            field(HeaderName::from_static("x-ratelimit-remaining"), &tier.shown_remaining().to_string()),
            field(HeaderName::from_static("x-ratelimit-reset"), &seconds_up(tier.reset).to_string()),
        ]
    }

    /// What is left of the tier that has the least left; `None` without enforced tiers.
    pub fn least_remaining(&self) -> Option<u64> {
        self.named_tiers().into_iter().map(|(_, tier)| tier.shown_remaining()).min()
    }

    /// Tiers by the name of their policy, and their number when it has several.
    fn named_tiers(&self) -> Vec<(String, &TierVerdict)> {
        let mut named = Vec::new();
        for PolicyVerdict { policy, tiers, .. } in &self.policies {
            if policy.settings().mode == Mode::Enforce {
                let id = policy.id();
                let name = |at| if tiers.len() > 1 { format!("{id}:{}", at + 1) } else { id.to_string() };
                named.extend(tiers.iter().enumerate().map(|(at, tier)| (name(at), tier)));
            }
        }
        named
    }
}

/// Seconds, where the window has a whole number of them; leases have none.
fn window(tier: &TierVerdict) -> Window {
    match tier.kind {
        "concurrent" => Window::AtOnce,
        "backlog" => Window::Unnamed,
        _ if tier.period.subsec_nanos() == 0 => Window::Seconds(tier.period.as_secs()),
        _ => Window::Unnamed,
    }
}

/// Names are those of policies and values are numbers, so that nothing is left out.
fn field(name: HeaderName, value: &str) -> Field {
    (name, HeaderValue::try_from(value).unwrap_or(HeaderValue::from_static("")))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

    use std::sync::Arc;

    use sfv::{BareItem, List, ListEntry, ListSerializer, Parser};

    use super::*;
    use crate::Policy;
    use crate::PolicySettings;
    use crate::Tier;
    use crate::Wait;

    fn verdict(id: &str, tiers: &[Tier], wait: Wait) -> PolicyVerdict {
        let policy = Policy::new(PolicySettings::new(id.parse().unwrap(), tiers.to_vec())).unwrap();
        let tier = |tier: &Tier| TierVerdict {
            kind: tier.kind().as_str(),
            limit: tier.limit(),
            period: tier.period(),
            wait,
            remaining: tier.most().min(3),
            reset: Duration::from_micros(1_000_001),
        };
        PolicyVerdict {
            cost: 1,
            allowed: wait == Wait::Ready,
            tiers: tiers.iter().map(tier).collect(),
            policy: Arc::new(policy),
        }
    }

    fn decision(wait: Wait) -> Decision {
        let second = Duration::from_secs(1);
        let one = [Tier::bucket(10, second, 10).unwrap()];
        let many = [Tier::gate(second / 2).unwrap(), Tier::concurrent(4, second).unwrap()];
        Decision::of(vec![verdict("put-product", &one, wait), verdict("a.b_c", &many, Wait::Ready)])
    }

    fn shown(fields: &[Field]) -> Vec<String> {
        fields.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect()
    }

    #[test]
    fn the_fields_tell_each_tier_and_when_to_come_again() {
        assert_eq!(
            shown(&decision(Wait::After(Duration::from_micros(2_000_001))).fields()),
            [
                "ratelimit-policy: \"put-product\";q=10;w=1, \"a.b_c:1\";q=1, \
                 \"a.b_c:2\";q=4;qu=\"concurrent-requests\"",
                "ratelimit: \"put-product\";r=3;t=2, \"a.b_c:1\";r=1;t=2, \"a.b_c:2\";r=3;t=2",
                "retry-after: 3",
            ]
        );
        assert_eq!(
            shown(&decision(Wait::Ready).older_fields()),
            ["x-ratelimit-limit: 1", "x-ratelimit-remaining: 1", "x-ratelimit-reset: 2"]
        );
    }

    #[test]
    fn no_more_is_left_than_the_quota() {
        let burst = [Tier::bucket(2, Duration::from_secs(1), 10).unwrap()];
        let decision = Decision::of(vec![verdict("burst", &burst, Wait::Ready)]);
        assert_eq!(shown(&decision.fields()), ["ratelimit-policy: \"burst\";q=2;w=1", "ratelimit: \"burst\";r=2;t=2"]);
        assert_eq!(shown(&decision.older_fields())[1], "x-ratelimit-remaining: 2");
        assert_eq!(decision.least_remaining(), Some(2));
        let json = serde_json::to_value(&decision).unwrap();
        assert_eq!(json["policies"][0]["tiers"][0]["remaining"], 2);
    }

    #[test]
    fn retry_after_is_there_when_waiting_helps() {
        let has = |wait| decision(wait).fields().iter().any(|(name, _)| name == RETRY_AFTER);
        assert!(has(Wait::After(Duration::from_micros(1))));
        assert!(!has(Wait::Ready) && !has(Wait::Never));
        assert!(Decision::unlimited().fields().is_empty() && Decision::unlimited().older_fields().is_empty());
    }

    #[test]
    fn the_fields_are_structured_fields() {
        for (name, value) in &decision(Wait::Ready).fields()[..2] {
            let list: List = Parser::new(value.as_bytes()).parse().unwrap();
            assert_eq!(list.len(), 3, "{name}");
            for entry in &list {
                let ListEntry::Item(item) = entry else { panic!("{name} has a list within") };
                assert!(matches!(&item.bare_item, BareItem::String(_)));
            }
            let mut again = ListSerializer::new();
            again.members(&list);
            assert_eq!(again.finish().unwrap(), value.to_str().unwrap(), "canonical");
        }
    }
}
