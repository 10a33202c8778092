use dripfeed_store::Script;

use crate::decide::plan::{KeyIndex, Plan};
use crate::lua::FRAGMENTS;
use crate::{Align, Decision, Mode, Policies, Policy, PolicySettings, Tier};

use super::{per_second, wait_us};
use crate::tests::bench::{Bench, NOON, SECOND, call, keys, plan_of, policy, seconds, settings};

#[tokio::test]
async fn a_refused_request_charges_no_tier() {
    let bench = Bench::new().await;
    let policies = [
        Policy::new(settings("first", vec![per_second(10), Tier::fixed(10, seconds(60), Align::First).unwrap()]))
            .unwrap(),
        Policy::new(settings("second", vec![Tier::bucket(1, seconds(2), 1).unwrap(), per_second(10)])).unwrap(),
    ];
    let (one, peek) = (plan_of(&policies, 1), plan_of(&policies, 0));
    assert!(bench.decide(NOON, &one).await.allowed);
    for _ in 0..50 {
        let refused = bench.decide(NOON, &one).await;
        assert_eq!((refused.allowed, refused.wait), (false, wait_us(2 * SECOND)));
        assert!(refused.policies[0].allowed && !refused.policies[1].allowed);
    }
    let left = bench.decide(NOON, &peek).await;
    let left: Vec<u64> = left.policies.iter().flat_map(|policy| &policy.tiers).map(|tier| tier.remaining).collect();
    assert_eq!(left, [9, 9, 0, 9]);
}

#[tokio::test]
async fn the_wait_is_the_longest_over_the_tiers_that_refuse() {
    let bench = Bench::new().await;
    let tiers = vec![per_second(1), Tier::gate(seconds(7)).unwrap(), Tier::gate(seconds(3)).unwrap()];
    let policy = policy(tiers);
    assert!(bench.passes(NOON, &policy).await);
    assert_eq!(bench.wait(NOON + SECOND, &policy, 1).await, wait_us(6 * SECOND));
    assert!(bench.passes(NOON + 7 * SECOND, &policy).await);
}

#[tokio::test]
async fn a_shadow_never_changes_an_answer_and_is_judged_as_if_it_did() {
    let bench = Bench::new().await;
    let shadow = PolicySettings { mode: Mode::Shadow, ..settings("shadow", vec![per_second(1)]) };
    let policies = [Policy::new(settings("real", vec![per_second(3)])).unwrap(), Policy::new(shadow).unwrap()];
    let one = plan_of(&policies, 1);
    let mut reported = Vec::new();
    for _ in 0..5 {
        let decision = bench.decide(NOON, &one).await;
        reported.push((decision.allowed, decision.policies[1].allowed));
        assert!(decision.allowed || decision.wait == wait_us(333_334), "{:?}", decision.wait);
    }
    assert_eq!(reported, [(true, true), (true, false), (true, false), (false, false), (false, false)]);
    // The shadow was charged once, so it is free again after a second.
    assert!(bench.decide(NOON + SECOND, &one).await.policies[1].allowed);
}

#[tokio::test]
async fn later_requests_of_one_script_see_what_the_earlier_were_charged() {
    let bench = Bench::new().await;
    // As a bucket admits a batch: each request on its own, and all is written once.
    let verb = "-- needs: rules/check
        local answers = {}
        for i, plan in ipairs(ARGV) do
          local verdict = limit_check(plan)
          limit_charge(verdict)
          answers[i] = limit_report(verdict)
        end
        limit_flush()
        return answers";
    let batch = Script::new("batch", &[FRAGMENTS], verb);
    let policies = [
        Policy::new(settings("caller", vec![Tier::bucket(2, seconds(3_600), 2).unwrap()])).unwrap(),
        Policy::new(PolicySettings {
            key: vec![],
            ..settings("all", vec![Tier::bucket(4, seconds(3_600), 4).unwrap()])
        })
        .unwrap(),
    ];
    let policies = Policies::new(policies.into()).unwrap();
    let plans = ["a", "a", "a", "b", "b", "c"].map(|caller| Plan::new(&policies, &keys(), &call(caller)));
    let mut keys = KeyIndex::after(vec!["jobs".to_owned()]);
    let packed = plans.each_ref().map(|plan| plan.pack(&mut keys, 0));
    assert_eq!(keys.keys().len(), 1 + 3 + 1);
    let mut call = batch.on(keys.keys());
    for plan in &packed {
        call.arg(&plan[..]);
    }
    let reports: Vec<Vec<i64>> = bench.store.run(&call).await.unwrap();
    let decisions = plans.iter().zip(&reports).map(|(plan, report)| Decision::read(plan, report).unwrap());
    let violated: Vec<Vec<String>> = decisions
        .map(|decision| decision.violated().map(|verdict| verdict.policy.id().to_string()).collect())
        .collect();
    assert_eq!(violated, [vec![], vec![], vec!["caller"], vec![], vec![], vec!["all"]]);
}
