use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::json;

use crate::load;
use crate::{KeyPart, LimitError, Limiter, Mode, Policies, Policy, PolicySettings, Request, Tier, VerdictCounts, Wait};

use super::bench::{Bench, call, policies, seconds, settings};

/// Leases, and who returns them.
mod leases;
/// Charges that are returned.
mod refunds;

fn bucket(limit: u64) -> Tier {
    Tier::bucket(limit, seconds(3_600), limit).unwrap()
}

async fn passed(limiter: &Limiter, request: &Request<'_>, count: usize) -> usize {
    let mut passed = 0;
    for _ in 0..count {
        passed += usize::from(limiter.decide(request).await.unwrap().allowed);
    }
    passed
}

#[tokio::test]
async fn each_caller_has_a_scope_of_its_own() {
    let bench = Bench::new().await;
    let limiter = bench.patient_limiter(vec![settings("a", vec![bucket(3)])]).await;
    assert_eq!(passed(&limiter, &call("acme"), 5).await, 3);
    assert_eq!(passed(&limiter, &call("globex"), 5).await, 3);
    assert_eq!(passed(&limiter, &Request::new("GET", "/"), 5).await, 3, "who is unknown is limited too");
}

#[tokio::test]
async fn a_decision_tells_what_the_check_api_answers() {
    let bench = Bench::new().await;
    let settings = PolicySettings { message: Some("slow down".to_owned()), ..settings("a", vec![bucket(1)]) };
    let limiter = bench.patient_limiter(vec![settings]).await;
    let allowed = serde_json::to_value(limiter.decide(&call("acme")).await.unwrap()).unwrap();
    let tier = json!({ "kind": "bucket", "limit": 1, "remaining": 0, "reset_ms": 3_600_000 });
    let policy = json!({ "id": "a", "mode": "enforce", "allowed": true, "tiers": [tier] });
    assert_eq!(allowed, json!({ "allowed": true, "retry_after_ms": null, "message": null, "policies": [policy] }));
    let refused = serde_json::to_value(limiter.decide(&call("acme")).await.unwrap()).unwrap();
    assert_eq!((&refused["allowed"], &refused["message"]), (&json!(false), &json!("slow down")));
    assert!(refused["retry_after_ms"].as_u64().unwrap() > 3_590_000, "{refused}");
}

#[tokio::test]
async fn what_no_policy_is_about_passes_without_asking() {
    let bench = Bench::new().await;
    let off = PolicySettings { mode: Mode::Off, ..settings("off", vec![bucket(1)]) };
    let limiter = bench.patient_limiter(vec![off]).await;
    assert_eq!(passed(&limiter, &call("acme"), 5).await, 5);
    assert_eq!(bench.script_calls().await, 0);
}

#[tokio::test]
async fn a_raised_limit_works_at_once_and_keeps_what_was_consumed() {
    let bench = Bench::new().await;
    let limiter = bench.patient_limiter(vec![settings("a", vec![bucket(3)])]).await;
    assert_eq!(passed(&limiter, &call("acme"), 5).await, 3);
    limiter.replace(policies(vec![settings("a", vec![bucket(5)])])).unwrap();
    assert_eq!(passed(&limiter, &call("acme"), 5).await, 2);
    limiter.replace(policies(vec![settings("a", vec![bucket(4)])])).unwrap();
    assert_eq!(passed(&limiter, &call("acme"), 5).await, 0);
}

#[tokio::test]
async fn a_refund_lets_the_next_one_pass_at_once() {
    let bench = Bench::new().await;
    let limiter = bench.patient_limiter(vec![settings("a", vec![bucket(1)])]).await;
    let decision = limiter.decide(&call("acme")).await.unwrap();
    assert_eq!(passed(&limiter, &call("acme"), 3).await, 0);
    limiter.refund(decision).await.unwrap();
    assert_eq!(passed(&limiter, &call("acme"), 3).await, 1);
}

#[tokio::test]
async fn policies_that_ask_for_what_is_not_there_are_refused_and_the_old_ones_stay() {
    let bench = Bench::new().await;
    let limiter = bench.patient_limiter(vec![settings("a", vec![bucket(1)])]).await;
    let backlog = vec![settings("b", vec![Tier::backlog(3).unwrap()])];
    let error = limiter.replace(policies(backlog.clone())).unwrap_err();
    assert!(matches!(&error, LimitError::NotHere { policy, .. } if policy.as_str() == "b"), "{error}");
    assert!(Limiter::new(bench.store.clone(), "shop", policies(backlog)).is_err());
    assert_eq!(passed(&limiter, &call("acme"), 3).await, 1);
}

#[tokio::test]
async fn what_became_of_requests_is_counted_also_for_shadows() {
    let bench = Bench::new().await;
    let shadow = PolicySettings { mode: Mode::Shadow, ..settings("shadow", vec![bucket(1)]) };
    let limiter = bench.patient_limiter(vec![settings("real", vec![bucket(3)]), shadow]).await;
    assert_eq!(passed(&limiter, &call("acme"), 5).await, 3);
    let tally = limiter.tally();
    let of = |id: &str| tally[&id.parse().unwrap()];
    assert_eq!(of("real"), VerdictCounts { allowed: 3, refused: 2, ..VerdictCounts::default() });
    // The last refusal was known already: the shadow wasn't asked.
    assert_eq!(of("shadow"), VerdictCounts { allowed: 1, shadow_refused: 3, ..VerdictCounts::default() });

    let history = limiter.history();
    for (id, counts) in &tally {
        let minutes = &history.policies[id];
        assert_eq!(minutes.iter().map(|slot| slot.counts.allowed).sum::<u64>(), counts.allowed, "{history:?}");
        assert_eq!(minutes.iter().map(|slot| slot.counts.refused).sum::<u64>(), counts.refused, "{history:?}");
        assert!(minutes.iter().all(|slot| (history.from_ms..=history.to_ms).contains(&slot.at_ms)), "{history:?}");
    }
}

#[tokio::test]
async fn minutes_are_kept_of_a_bounded_number_of_policies() {
    let bench = Bench::new().await;
    let policies = (0..30).map(|n| settings(&format!("p{n}"), vec![bucket(3)]));
    let limiter = bench.patient_limiter(policies.collect()).await;
    assert_eq!(passed(&limiter, &call("acme"), 1).await, 1);
    assert_eq!((limiter.tally().len(), limiter.history().policies.len()), (30, 20));
}

#[tokio::test]
async fn a_policy_that_is_gone_is_counted_no_more() {
    let bench = Bench::new().await;
    let policies = |ids: &[&str]| {
        let policies = ids.iter().map(|id| Policy::new(settings(id, vec![bucket(3)])).unwrap());
        Policies::new(policies.collect()).unwrap()
    };
    let limiter = Limiter::with_timeout(bench.store.clone(), "shop", policies(&["a", "b"]), seconds(60)).unwrap();
    assert_eq!(passed(&limiter, &call("acme"), 1).await, 1);
    let counted = || limiter.tally().keys().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(counted(), ["a", "b"]);
    limiter.replace(policies(&["b", "c"])).unwrap();
    assert_eq!(counted(), ["b"]);
    limiter.replace(policies(&["a"])).unwrap();
    assert!(counted().is_empty(), "what was forgotten begins at 0");
}

#[tokio::test]
async fn what_requests_bring_makes_a_bounded_number_of_keys_and_stands_in_none() {
    let bench = Bench::new().await;
    let key = vec!["header:x-api-key".parse().unwrap(), KeyPart::Ip];
    let each = PolicySettings { key, max_scopes: 8, ..settings("each", vec![bucket(1)]) };
    let limiter = bench.patient_limiter(vec![each]).await;
    let mut passes = 0;
    for n in 0..200 {
        let mut headers = http::HeaderMap::new();
        headers.insert("x-api-key", format!("canary-{n}").parse().unwrap());
        let request = Request { headers: Some(&headers), ip: Some([192, 0, 2, n].into()), ..Request::default() };
        passes += passed(&limiter, &request, 1).await;
    }
    let keys: Vec<String> = bench.store.command(redis::cmd("KEYS").arg("*")).await.unwrap();
    assert_eq!((passes, keys.len()), (8, 8), "{keys:?}");
    assert!(!keys.iter().any(|key| key.contains("canary") || key.contains("192.0")), "{keys:?}");
}

#[tokio::test]
async fn the_published_service_levels_are_enforced_per_tenant_and_endpoint() {
    let bench = Bench::new().await;
    let slas = "
slas:
  - id: put-product
    enabled: true
    match: { methods: [PUT], pathPattern: '/v1/organizations/{orgId}/product/{id}' }
    tiers: [{ period: 86400, threshold: 2 }]
";
    let limiter = Limiter::with_timeout(bench.store.clone(), "shop", load::yaml(slas).unwrap(), seconds(60)).unwrap();
    let put = |path| Request::new("PUT", path);
    assert_eq!(passed(&limiter, &put("/v1/organizations/acme/product/1"), 2).await, 2);
    assert_eq!(passed(&limiter, &put("/v1/organizations/acme/product/2"), 2).await, 0, "the same endpoint");
    assert_eq!(passed(&limiter, &put("/v1/organizations/globex/product/1"), 2).await, 2);
    assert_eq!(passed(&limiter, &Request::new("GET", "/v1/organizations/acme/product/1"), 5).await, 5);
}

#[tokio::test]
async fn a_cost_from_a_header_counts() {
    let bench = Bench::new().await;
    let yaml = "policies: [{ id: a, cost: { header: x-cost }, tiers: [{ kind: bucket, rate: 10/h }] }]";
    let limiter = Limiter::with_timeout(bench.store.clone(), "shop", load::yaml(yaml).unwrap(), seconds(60)).unwrap();
    let mut headers = http::HeaderMap::new();
    headers.insert("x-cost", http::HeaderValue::from_static("7"));
    let costly = Request { headers: Some(&headers), ..Request::new("GET", "/") };
    let decision = limiter.decide(&costly).await.unwrap();
    assert_eq!((decision.allowed, decision.policies[0].tiers[0].remaining), (true, 3));
    assert!(!limiter.decide(&costly).await.unwrap().allowed);
    headers.insert("x-cost", http::HeaderValue::from_static("99999999999999999999"));
    let costly = Request { headers: Some(&headers), ..Request::new("GET", "/") };
    assert_eq!(limiter.decide(&costly).await.unwrap().wait, Wait::Never);
}

/// Three replicas, each with its own connection, ask as fast as they can; on a busy machine for longer.
#[tokio::test(flavor = "multi_thread")]
async fn replicas_together_stay_within_the_bound() {
    const PASSED: u64 = 420;
    let bench = Bench::new().await;
    let tiers = vec![Tier::bucket(200, seconds(1), 20).unwrap()];
    let (started, all) = (std::time::Instant::now(), Arc::new(AtomicU64::new(0)));
    let replicas =
        futures::future::join_all((0..3).map(|_| bench.patient_limiter(vec![settings("a", tiers.clone())]))).await;
    let ask = |limiter: Limiter, all: Arc<AtomicU64>| async move {
        while all.load(Ordering::Relaxed) < PASSED {
            let passed = limiter.decide(&call("acme")).await.unwrap().allowed;
            all.fetch_add(u64::from(passed), Ordering::Relaxed);
            assert!(started.elapsed() < seconds(60), "the rate isn't used: {all:?} passed");
        }
    };
    let tasks = replicas.into_iter().flat_map(|limiter| vec![limiter; 4]);
    let tasks = tasks.map(|limiter| tokio::spawn(ask(limiter, all.clone())));
    futures::future::join_all(tasks).await.into_iter().for_each(Result::unwrap);
    let (allowed, ms) = (all.load(Ordering::Relaxed), u64::try_from(started.elapsed().as_millis()).unwrap());
    assert!(allowed <= 20 + ms / 5 + 1, "{allowed} in {ms} ms");
}

#[tokio::test]
async fn requests_that_are_decided_together_pass_together_or_not_at_all() {
    let bench = Bench::new().await;
    let all = PolicySettings::new("all".parse().unwrap(), vec![bucket(10)]);
    let limiter = bench.patient_limiter(vec![all, settings("each", vec![bucket(2)])]).await;
    let left = |verdicts: &[&crate::PolicyVerdict]| -> Vec<(String, u64)> {
        verdicts.iter().map(|verdict| (verdict.policy.id().to_string(), verdict.tiers[0].remaining)).collect()
    };
    let told = |id: &str, left: u64| (id.to_owned(), left);
    let both = [call("acme"), call("globex")];
    // The first call of a script is two: by its hash, and with its source.
    limiter.decide(&Request { cost: Some(0), ..call("acme") }).await.unwrap();
    let before = bench.script_calls().await;
    let passed = limiter.decide_together(&both).await.unwrap();
    assert_eq!(bench.script_calls().await, before + 1);
    let verdicts: Vec<_> = passed.requests().map(|verdicts| left(&verdicts)).collect();
    // What both fall under is charged once.
    assert_eq!(verdicts, [[told("all", 9), told("each", 1)], [told("all", 9), told("each", 1)]]);

    assert!(limiter.decide(&call("acme")).await.unwrap().allowed);
    for _ in 0..3 {
        let refused = limiter.decide_together(&both).await.unwrap();
        assert!(!refused.decision.allowed && refused.decision.wait > Wait::Ready);
        let [acme, globex] = refused.requests().collect::<Vec<_>>().try_into().unwrap();
        assert!(acme.iter().any(|verdict| !verdict.allowed) && globex.iter().all(|verdict| verdict.allowed));
    }
    let globex = limiter.decide(&call("globex")).await.unwrap();
    assert_eq!(left(&globex.policies.iter().collect::<Vec<_>>()), [told("all", 7), told("each", 0)]);
    assert!(limiter.decide_together(&[]).await.unwrap().decision.allowed);
    let dear = Request { cost: Some(3), ..call("initech") };
    assert!(!limiter.decide_together(&[call("initech"), dear]).await.unwrap().decision.allowed);
}
