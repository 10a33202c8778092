use std::collections::HashSet;
use std::time::Duration;

use dripfeed_store::{Fragment, Fragments, Script};
use redis::cmd;

use crate::decide::clock::Clock;
use crate::decide::key_index::KeyIndex;
use crate::decide::redis_decide;
use crate::lua::FRAGMENTS;
use crate::{
    Align, Calendar, Consistency, KeyPart, Match, Mode, Plan, Policies, Policy, PolicySettings, Request, Tier, Unit,
};

use super::bench::{Bench, NOON, SECOND, call, plan_of, seconds, settings};

impl Bench {
    async fn memory(&self, key: &str) -> u64 {
        self.store.command(cmd("MEMORY").arg("USAGE").arg(key)).await.unwrap()
    }
}

fn all_kinds() -> Vec<Tier> {
    vec![
        Tier::bucket(10, seconds(1), 10).unwrap(),
        Tier::gate(seconds(1)).unwrap(),
        Tier::fixed(10, seconds(1), Align::Epoch { spread: Some(KeyPart::Caller) }).unwrap(),
        Tier::fixed(10, seconds(1), Align::First).unwrap(),
        Tier::calendar(10, Calendar::new(Unit::Day, "Europe/Berlin").unwrap()).unwrap(),
        Tier::sliding(10, seconds(1)).unwrap(),
        Tier::log(10, seconds(1), Duration::ZERO, true).unwrap(),
        Tier::concurrent(10, seconds(1)).unwrap(),
    ]
}

#[tokio::test]
async fn every_key_has_a_time_to_live() {
    let bench = Bench::new().await;
    let policies: Vec<Policy> = all_kinds()
        .into_iter()
        .enumerate()
        .map(|(at, tier)| Policy::new(settings(&format!("kind-{at}"), vec![tier])).unwrap())
        .collect();
    let plan = plan_of(&policies, 1);
    for _ in 0..3 {
        bench.decide_now(&plan).await;
    }
    for scope in plan.scopes() {
        let ttl: i64 = bench.store.command(cmd("PTTL").arg(&scope.key)).await.unwrap();
        assert!(ttl > 0 && ttl <= 60 * 3_600_000, "{}: {ttl}", scope.key);
    }
    let refunded = redis_decide::Refunded { plan: plan.clone(), before_us: 0, charged_us: 0 };
    redis_decide::refund(&bench.store, &Clock::new(), &[refunded], redis_decide::Refund::All).await.unwrap();
    for scope in plan.scopes() {
        let ttl: i64 = bench.store.command(cmd("PTTL").arg(&scope.key)).await.unwrap();
        assert_ne!(ttl, -1, "{} stays for ever", scope.key);
    }
}

/// How long the only scope of a plan lives after each of these times, at which it was charged, in ms; None: as before.
async fn lives(bench: &Bench, plan: &Plan, times: &[u64]) -> Vec<Option<u64>> {
    const CLOCK: &Fragments = &[Fragment::new("now", "local now_us = 0")];
    static PASSES: Script = Script::new("passes", &[CLOCK, FRAGMENTS], include_str!("passes.lua"));
    let mut keys = KeyIndex::default();
    let packed = plan.pack(&mut keys, NOON);
    let mut call = PASSES.on(keys.keys());
    call.arg(&packed[..]).args(times);
    let lives: Vec<i64> = bench.store.run(&call).await.unwrap();
    lives.into_iter().map(|ms| u64::try_from(ms).ok()).collect()
}

#[tokio::test]
async fn a_key_whose_time_to_live_is_left_as_it_is_lives_as_long_as_it_has_to() {
    let bench = Bench::new().await;
    // Full after 100 s, a second, and a second that slides.
    let tiers = vec![
        Tier::bucket(10, seconds(1), 1_000).unwrap(),
        Tier::fixed(10, seconds(1), Align::Epoch { spread: None }).unwrap(),
        Tier::sliding(10, seconds(1)).unwrap(),
    ];
    let plan = plan_of(&[Policy::new(settings("limit", tiers)).unwrap()], 1);
    let needed_us = 100 * SECOND;
    let times: Vec<u64> = (0..1_000).map(|step| NOON + step * 337_001).collect();
    let (mut ends, mut set) = (0, 0);
    for (now, lives) in times.iter().zip(lives(&bench, &plan, &times).await) {
        if let Some(ms) = lives {
            (ends, set) = (now + ms * 1_000, set + 1);
        }
        assert!(ends >= now + needed_us, "{set}: {} µs", ends.saturating_sub(*now));
    }
    assert!(set < 40, "set {set} times in 337 s");
}

#[tokio::test]
async fn a_window_of_the_calendar_is_kept_until_it_ends_though_clocks_are_put_back_in_it() {
    let bench = Bench::new().await;
    let calendar = |unit| Tier::calendar(10, Calendar::new(unit, "Europe/Berlin").unwrap()).unwrap();
    for (unit, hours) in [(Unit::Day, 25), (Unit::Week, 7 * 24 + 1), (Unit::Month, 31 * 24 + 1)] {
        let tiers = vec![calendar(unit), Tier::gate(Duration::from_millis(1)).unwrap()];
        let plan = plan_of(&[Policy::new(settings("limit", tiers)).unwrap()], 1);
        bench.decide_now(&plan).await;
        let ttl: i64 = bench.store.command(cmd("PTTL").arg(&plan.scopes()[0].key)).await.unwrap();
        assert!(ttl >= hours * 3_600_000, "{unit:?}: {ttl}");
        bench.store.command::<()>(&cmd("FLUSHALL")).await.unwrap();
    }
}

#[tokio::test]
async fn whatever_a_limiter_does_leaves_no_key_without_a_time_to_live() {
    let bench = Bench::new().await;
    let of = |id: &str, consistency, tier| PolicySettings { consistency, ..settings(id, vec![tier]) };
    let sync = Duration::from_millis(10);
    let mut all = vec![
        of("leased-bucket", Consistency::Leased, Tier::bucket(100, seconds(1), 100).unwrap()),
        of("leased-window", Consistency::Leased, Tier::fixed(1_000, seconds(60), Align::First).unwrap()),
        of("counted", Consistency::Async { sync }, Tier::sliding(1_000, seconds(60)).unwrap()),
        of("shadow", Consistency::Strict, Tier::gate(seconds(60)).unwrap()),
    ];
    all[3].mode = Mode::Shadow;
    all.extend(all_kinds().into_iter().enumerate().map(|(at, tier)| settings(&format!("kind-{at}"), vec![tier])));
    let policies = all.len();
    let limiter = bench.patient_limiter(all).await;
    for caller in ["decides", "refunds", "releases"] {
        let decision = limiter.decide(&call(caller)).await.unwrap();
        assert!(decision.allowed);
        assert!(!limiter.decide(&call(caller)).await.unwrap().allowed, "the gate has shut");
        match caller {
            "refunds" => limiter.refund(decision).await.unwrap(),
            "releases" => limiter.release(decision).await.unwrap(),
            _ => {}
        }
    }
    limiter.close().await.unwrap();
    let keys: Vec<String> = bench.store.command(cmd("KEYS").arg("*")).await.unwrap();
    // What was counted and taken back at once isn't asked of Redis.
    assert!(keys.len() >= 3 * policies - 1, "{keys:?}");
    for key in keys {
        let ttl: i64 = bench.store.command(cmd("PTTL").arg(&key)).await.unwrap();
        assert_ne!(ttl, -1, "{key} stays for ever");
    }
}

#[tokio::test]
async fn three_tiers_of_one_scope_take_at_most_200_bytes() {
    let bench = Bench::new().await;
    let windows = |tier: fn(u64, Duration) -> Tier| [1, 60, 86_400].map(|length| tier(100, seconds(length))).to_vec();
    let lists = [
        windows(|limit, period| Tier::bucket(limit, period, limit).unwrap()),
        windows(|limit, period| Tier::fixed(limit, period, Align::Epoch { spread: None }).unwrap()),
        windows(|limit, period| Tier::fixed(limit, period, Align::First).unwrap()),
        windows(|limit, period| Tier::sliding(limit, period).unwrap()),
    ];
    let matching = Match::new(&["PUT"], Some("/v1/organizations/{org}/product/{id}")).unwrap();
    let request = Request::new("PUT", "/v1/organizations/acme/product/7");
    let keys = super::bench::keys();
    for tiers in lists {
        let key = vec![KeyPart::Tenant, KeyPart::Endpoint];
        let settings = PolicySettings { key, matching: matching.clone(), ..settings("put-product", tiers) };
        let policies = Policies::new(vec![Policy::new(settings).unwrap()]).unwrap();
        let plan = Plan::new(&policies, &keys, &request);
        // Otherwise the tiers before are kept for a while.
        bench.store.command::<()>(&cmd("FLUSHALL")).await.unwrap();
        bench.decide_now(&plan).await;
        let key = &plan.scopes()[0].key;
        let bytes = bench.memory(key).await;
        assert!(bytes <= 200, "{bytes} bytes for {key}");
    }
}

#[tokio::test]
async fn a_full_log_stays_below_ten_kilobytes() {
    let bench = Bench::new().await;
    let tier = Tier::log(1_000, seconds(3_600), Duration::ZERO, true).unwrap();
    let plan = plan_of(&[Policy::new(settings("log", vec![tier])).unwrap()], 1);
    for _ in 0..1_200 {
        bench.decide_now(&plan).await;
    }
    let bytes = bench.memory(&plan.scopes()[0].key).await;
    assert!(bytes < 10 * 1_024 + 256, "{bytes}");
}

#[tokio::test]
async fn one_script_call_whatever_the_number_of_tiers_and_scopes() {
    let bench = Bench::new().await;
    for (round, count) in [1, 3, 5].into_iter().enumerate() {
        let tiers = || all_kinds().into_iter().cycle().take(count).collect::<Vec<_>>();
        let policy = |at: usize| Policy::new(settings(&format!("policy-{round}-{at}"), tiers())).unwrap();
        let plan = plan_of(&(0..count).map(policy).collect::<Vec<_>>(), 1);
        bench.decide_now(&plan).await;
        let before = bench.script_calls().await;
        for _ in 0..10 {
            bench.decide_now(&plan).await;
        }
        assert_eq!(bench.script_calls().await - before, 10, "{count} tiers in each of {count} scopes");
    }
}

#[test]
fn all_keys_of_a_request_share_a_hash_tag() {
    let policies: Vec<Policy> = ["a", "b", "c"].map(|id| Policy::new(settings(id, all_kinds())).unwrap()).into();
    let plan = plan_of(&policies, 1);
    let mut keys = KeyIndex::default();
    plan.pack(&mut keys, 0);
    let tags: HashSet<&str> = keys.keys().iter().filter_map(|key| key.split(['{', '}']).nth(1)).collect();
    assert_eq!((keys.keys().len(), tags), (3, HashSet::from(["tigerfeeding"])));
}
