use std::time::{Duration, UNIX_EPOCH};

use dripfeed_store::Script;

use crate::decide::key_index::KeyIndex;
use crate::decide::plan::Plan;
use crate::lua::FRAGMENTS;
use crate::{Align, Calendar, Decision, KeyPart, Mode, Policies, Policy, PolicySettings, Request, Tier, Unit};

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

/// A report, and the states; empty where there are none.
type Answer = (Vec<i64>, Vec<u8>);

/// As a bucket admits a batch: each request on its own, and all is written once. What is read from reports, and from
/// states where there are any.
async fn decide_in_one_script(bench: &Bench, plans: &[Plan]) -> Vec<(Decision, Option<Decision>)> {
    let verb = "-- needs: rules/check
        local answers = {}
        for i, plan in ipairs(ARGV) do
          local verdict = limit_check(plan)
          limit_charge(verdict)
          answers[i] = { limit_report(verdict), limit_states(verdict) or '' }
        end
        limit_flush()
        return { now_us, answers }";
    let batch = Script::new("batch", &[FRAGMENTS], verb);
    let mut keys = KeyIndex::after(vec!["jobs".to_owned()]);
    let now_us = u64::try_from(UNIX_EPOCH.elapsed().unwrap().as_micros()).unwrap();
    let packed: Vec<Vec<u8>> = plans.iter().map(|plan| plan.pack(&mut keys, now_us)).collect();
    let mut call = batch.on(keys.keys());
    for plan in &packed {
        call.arg(&plan[..]);
    }
    let (now_us, answers): (u64, Vec<Answer>) = bench.store.run(&call).await.unwrap();
    let decision = |(plan, (report, states)): (&Plan, &Answer)| {
        let by_states = (!states.is_empty()).then(|| Decision::read_states(plan, now_us, states).unwrap());
        (Decision::read(plan, report).unwrap(), by_states)
    };
    plans.iter().zip(&answers).map(decision).collect()
}

#[tokio::test]
async fn later_requests_of_one_script_see_what_the_earlier_were_charged() {
    let bench = Bench::new().await;
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
    let decisions = decide_in_one_script(&bench, &plans).await;
    let violated: Vec<Vec<String>> = decisions
        .iter()
        .map(|(decision, _)| decision.violated().map(|verdict| verdict.policy.id().to_string()).collect())
        .collect();
    assert_eq!(violated, [vec![], vec![], vec!["caller"], vec![], vec![], vec!["all"]]);
}

#[tokio::test]
async fn scopes_with_the_same_tiers_are_counted_apart() {
    const LIMIT: u64 = 5;
    let bench = Bench::new().await;
    let hour = seconds(3_600);
    let tiers = || {
        vec![
            Tier::bucket(LIMIT, hour * 1_000, LIMIT).unwrap(),
            Tier::fixed(LIMIT, hour, Align::First).unwrap(),
            Tier::log(LIMIT, hour, Duration::ZERO, false).unwrap(),
            Tier::concurrent(LIMIT, hour).unwrap(),
        ]
    };
    let policies = ["one", "other"].map(|id| Policy::new(settings(id, tiers())).unwrap());
    // Of which one is in force, one has another place in the plan.
    let both = Policies::new(policies.to_vec()).unwrap();
    let other = Policies::new(policies[1..].to_vec()).unwrap();
    for _ in 0..2 {
        let asked: Vec<(bool, usize)> = (0..60).map(|_| (fastrand::bool(), fastrand::usize(0..4))).collect();
        let names = ["a", "b", "c", "d"];
        let plan = |(of_both, caller)| Plan::new(if of_both { &both } else { &other }, &keys(), &call(names[caller]));
        let plans: Vec<Plan> = asked.iter().copied().map(plan).collect();
        let mut left = [[LIMIT; 4]; 2];
        bench.store.command::<()>(&redis::cmd("FLUSHALL")).await.unwrap();
        for (at, (decision, _)) in decide_in_one_script(&bench, &plans).await.iter().enumerate() {
            let (of_both, caller) = asked[at];
            let of = &mut left[usize::from(!of_both)..];
            let passes = of.iter().all(|left| left[caller] > 0);
            of.iter_mut().for_each(|left| left[caller] -= u64::from(passes));
            let remaining = decision.policies.iter().map(|policy| policy.tiers.iter().map(|tier| tier.remaining));
            let expected = of.iter().map(|left| [left[caller]; 4].into_iter());
            assert_eq!(decision.allowed, passes);
            assert!(remaining.flatten().eq(expected.flatten()), "{decision:?}, {left:?}");
        }
        // What was written is what was decided.
        for (caller, name) in names.iter().enumerate() {
            let plan = Plan::new(&both, &keys(), &Request { cost: Some(0), ..call(name) });
            let decision = bench.decide_now(&plan).await;
            for (of, verdict) in decision.policies.iter().enumerate() {
                assert!(verdict.tiers.iter().all(|tier| tier.remaining == left[of][caller]), "{verdict:?}, {left:?}");
            }
        }
    }
}

#[tokio::test]
async fn the_states_of_counts_say_what_a_report_does() {
    let bench = Bench::new().await;
    let counts = || {
        vec![
            Tier::bucket(fastrand::u64(1..1_000), seconds(3_600), 7).unwrap(),
            Tier::gate(Duration::from_micros(1)).unwrap(),
            Tier::fixed(7, seconds(fastrand::u64(60..3_600)), Align::Epoch { spread: Some(KeyPart::Caller) }).unwrap(),
            Tier::fixed(7, seconds(3_600), Align::First).unwrap(),
            Tier::calendar(7, Calendar::new(Unit::Week, "Europe/Berlin").unwrap()).unwrap(),
            Tier::sliding(7, seconds(3_600)).unwrap(),
        ]
    };
    let policies = ["one", "other"].map(|id| Policy::new(settings(id, counts())).unwrap());
    let policies = Policies::new(policies.to_vec()).unwrap();
    for _ in 0..20 {
        let plan = Plan::new(&policies, &keys(), &call("acme"));
        let (by_report, by_states) = decide_in_one_script(&bench, &[plan]).await.remove(0);
        assert_eq!(by_states.is_some(), by_report.allowed);
        if let Some(by_states) = by_states {
            assert_eq!(format!("{by_states:?}"), format!("{by_report:?}"));
        }
    }
}
