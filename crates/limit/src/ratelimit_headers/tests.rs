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
fn a_backlog_has_no_time_but_the_wait_for_room() {
    let of = |wait| {
        let tiers = [Tier::backlog(3).unwrap()];
        let mut verdict = verdict("short", &tiers, wait);
        verdict.tiers[0].reset = Duration::ZERO;
        verdict.tiers[0].remaining = 0;
        Decision::of(vec![verdict])
    };
    assert_eq!(shown(&of(Wait::Ready).fields())[1], "ratelimit: \"short\";r=0");
    let refused = of(Wait::After(Duration::from_millis(2_500)));
    assert_eq!(shown(&refused.fields())[1..], ["ratelimit: \"short\";r=0;t=3", "retry-after: 3"]);
    assert_eq!(shown(&refused.older_fields())[2], "x-ratelimit-reset: 3");
    assert_eq!(shown(&of(Wait::Ready).older_fields()), ["x-ratelimit-limit: 3", "x-ratelimit-remaining: 0"]);
    assert_eq!(shown(&of(Wait::Never).fields())[1..], ["ratelimit: \"short\";r=0"]);
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
fn a_policy_that_was_asked_for_several_scopes_is_there_once_with_the_least_left() {
    let tiers = [Tier::bucket(10, Duration::from_secs(1), 10).unwrap()];
    let scope = |remaining| {
        let mut verdict = verdict("caller", &tiers, Wait::Ready);
        verdict.tiers[0].remaining = remaining;
        verdict
    };
    let decision = Decision::of(vec![scope(3), verdict("other", &tiers, Wait::Ready), scope(2), scope(5)]);
    assert_eq!(
        shown(&decision.fields()),
        [
            "ratelimit-policy: \"caller\";q=10;w=1, \"other\";q=10;w=1",
            "ratelimit: \"caller\";r=2;t=2, \"other\";r=3;t=2",
        ]
    );
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
