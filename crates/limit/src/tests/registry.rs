use std::collections::HashMap;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::{Decision, RegistryError, Request, Rules, ServiceName, Services};

use super::bench::Bench;

/// Timeout of any wait here: the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

fn shop() -> ServiceName {
    "shop".parse().unwrap()
}

fn rules(limit: u64, more: &Json) -> Rules {
    let mut policy =
        json!({ "id": "a", "tiers": [{ "kind": "fixed", "limit": limit, "period": "1d", "align": "first" }] });
    policy.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Rules::of(json!({ "policies": [policy] })).unwrap()
}

async fn intake(bench: &Bench) -> Services {
    Services::open_with_timeout(bench.patient_store().await, PATIENCE).await
}

async fn check(services: &Services) -> Option<Decision> {
    services.check(&shop(), &Request::new("GET", "/")).await.unwrap()
}

/// The limit of the rules that `services` knows.
fn limit(services: &Services) -> Option<u64> {
    services.rules(&shop()).unwrap()?.document()["policies"][0]["tiers"][0]["limit"].as_u64()
}

/// Returns when it knows this one.
async fn comes_to(services: &Services, expected: Option<u64>) {
    let begun = Instant::now();
    while limit(services) != expected {
        assert!(begun.elapsed() < PATIENCE, "{:?}", limit(services));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// How often each intake has looked for changes, which is also its heartbeat: every 400 ms, where the machine goes on.
async fn looks(bench: &Bench) -> HashMap<String, u64> {
    bench.store.command(redis::cmd("HGETALL").arg("dripfeed:{@services}:intakes")).await.unwrap()
}

/// As [`comes_to`], by the next look of the intake `id`.
async fn looks_and_comes_to(bench: &Bench, services: &Services, id: &str, expected: Option<u64>) {
    let before = looks(bench).await[id];
    let comes = async {
        loop {
            let looked = looks(bench).await[id] - before;
            if limit(services) == expected {
                return;
            }
            // It looks again when it has read what it was shown.
            assert!(looked < 2, "{:?} after {looked} looks", limit(services));
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, comes).await.unwrap();
}

#[tokio::test]
async fn a_change_holds_here_at_once_and_everywhere_with_the_next_look() {
    let bench = Bench::new().await;
    let here = intake(&bench).await;
    let id_here = looks(&bench).await.into_keys().next().unwrap();
    let there = intake(&bench).await;
    let id_there = looks(&bench).await.into_keys().find(|id| *id != id_here).unwrap();
    assert!(check(&here).await.is_none() && check(&there).await.is_none());

    here.put(&shop(), &rules(3, &json!({})), None).await.unwrap();
    assert_eq!(limit(&here), Some(3));
    looks_and_comes_to(&bench, &there, &id_there, Some(3)).await;
    assert!(check(&here).await.unwrap().allowed && check(&there).await.unwrap().allowed);

    there.put(&shop(), &rules(2, &json!({})), None).await.unwrap();
    assert!(!check(&there).await.unwrap().allowed, "two were consumed");
    looks_and_comes_to(&bench, &here, &id_here, Some(2)).await;
    here.put(&shop(), &rules(3, &json!({})), None).await.unwrap();
    let last = check(&here).await.unwrap();
    assert_eq!((last.allowed, last.policies[0].tiers[0].remaining), (true, 0));

    assert!(here.delete(&shop(), None).await.unwrap());
    assert!(!here.delete(&shop(), None).await.unwrap());
    assert!(check(&here).await.is_none());
    looks_and_comes_to(&bench, &there, &id_there, None).await;
    here.close().await;
    assert!(matches!(here.put(&shop(), &rules(3, &json!({})), None).await, Err(RegistryError::Closed)));
}

#[tokio::test]
async fn what_is_known_goes_on_while_redis_is_away_and_is_shared_by_the_intakes() {
    let mut bench = Bench::new().await;
    let intakes = [intake(&bench).await, intake(&bench).await];
    intakes[0].put(&shop(), &rules(10, &json!({ "on_store_error": "local" })), None).await.unwrap();
    for intake in &intakes {
        comes_to(intake, Some(10)).await;
    }
    bench.server.kill().await.unwrap();
    for intake in &intakes {
        let mut allowed = 0;
        for _ in 0..20 {
            allowed += u64::from(check(intake).await.unwrap().allowed);
        }
        assert_eq!(allowed, 5, "each has half");
    }
    assert!(matches!(intakes[0].put(&shop(), &rules(1, &json!({})), None).await, Err(RegistryError::Store(_))));
    bench.server.start_again().await.unwrap();
    comes_to(&intakes[0], Some(10)).await;
}

#[tokio::test]
async fn an_intake_that_starts_without_redis_learns_the_rules_when_it_is_back() {
    let mut bench = Bench::new().await;
    let store = bench.connect().await;
    bench.server.kill().await.unwrap();
    let services = Services::open(store).await;
    assert!(matches!(services.rules(&shop()), Err(RegistryError::Unread)));
    assert!(matches!(services.check(&shop(), &Request::new("GET", "/")).await, Err(RegistryError::Unread)));
    bench.server.start_again().await.unwrap();
    let begun = Instant::now();
    while services.rules(&shop()).is_err() {
        assert!(begun.elapsed() < PATIENCE);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(services.rules(&shop()).unwrap().is_none());
}

#[tokio::test]
async fn a_redis_that_lost_the_rules_is_believed() {
    let bench = Bench::new().await;
    let (here, there) = (intake(&bench).await, intake(&bench).await);
    here.put(&shop(), &rules(3, &json!({})), None).await.unwrap();
    comes_to(&there, Some(3)).await;
    bench.store.command::<()>(&redis::cmd("FLUSHALL")).await.unwrap();
    // As many changes as before.
    here.put(&shop(), &rules(4, &json!({})), None).await.unwrap();
    comes_to(&there, Some(4)).await;
}

#[tokio::test]
async fn there_is_room_for_so_many_services_and_so_many_bytes() {
    let bench = Bench::new().await;
    let services = intake(&bench).await;
    services.put(&shop(), &rules(1, &json!({})), None).await.unwrap();
    let mut fill = redis::cmd("HSET");
    fill.arg("dripfeed:{@services}:rules");
    for n in 1..1000 {
        fill.arg(format!("s{n}")).arg(r#"{"policies":[]}"#);
    }
    bench.store.command::<u64>(&fill).await.unwrap();
    let more = "more".parse().unwrap();
    assert!(matches!(services.put(&more, &rules(1, &json!({})), None).await, Err(RegistryError::ManyServices(1000))));
    services.put(&shop(), &rules(2, &json!({})), None).await.unwrap();

    let mut full = redis::cmd("HSET");
    full.arg("dripfeed:{@services}:state").arg("bytes").arg(8 << 20);
    bench.store.command::<u64>(&full).await.unwrap();
    let longer = rules(2, &json!({ "message": "later" }));
    assert!(matches!(services.put(&shop(), &longer, None).await, Err(RegistryError::ManyBytes(_))));
    assert_eq!(limit(&services), Some(2));
    assert!(services.delete(&"s1".parse().unwrap(), None).await.unwrap());
    services.put(&shop(), &rules(3, &json!({})), None).await.unwrap();
}

#[tokio::test]
async fn a_full_redis_takes_no_rules_and_lets_them_go() {
    let bench = Bench::new().await;
    let (here, there) = (intake(&bench).await, intake(&bench).await);
    here.put(&shop(), &rules(1, &json!({})), None).await.unwrap();
    comes_to(&there, Some(1)).await;
    bench.store.command::<()>(redis::cmd("CONFIG").arg("SET").arg("maxmemory").arg(1)).await.unwrap();
    assert!(matches!(here.put(&shop(), &rules(2, &json!({})), None).await, Err(RegistryError::Store(_))));
    assert!(here.delete(&shop(), None).await.unwrap());
    comes_to(&there, None).await;
}

#[tokio::test]
async fn each_change_of_rules_is_in_the_audit_log_with_who_made_it_and_from_what_to_what() {
    let bench = Bench::new().await;
    let (here, there) = (intake(&bench).await, intake(&bench).await);
    here.put(&shop(), &rules(1, &json!({})), Some("ops")).await.unwrap();
    // This intake may not know the rules yet that it replaces.
    there.put(&shop(), &rules(2, &json!({ "message": "x".repeat(100) })), None).await.unwrap();
    here.put(&shop(), &rules(2, &json!({ "message": "later" })), Some("ops")).await.unwrap();
    assert!(!here.put_if_unchanged(&shop(), None, &rules(3, &json!({})), Some("late")).await.unwrap());
    let known = here.rules(&shop()).unwrap().unwrap();
    assert!(here.put_if_unchanged(&shop(), Some(&known), &known, Some("again")).await.unwrap());
    here.put(&shop(), &known, Some("again")).await.unwrap();
    assert!(there.delete(&shop(), Some("ops")).await.unwrap());
    assert!(!there.delete(&shop(), Some("ops")).await.unwrap());

    let entries = there.audit_trail().await.unwrap();
    assert!(entries.iter().all(|entry| entry.service == "shop" && entry.at_ms > 0), "{entries:?}");
    let shown: Vec<_> = entries.iter().map(|entry| (entry.by.as_deref(), entry.action.as_str())).rev().collect();
    let ops = Some("ops");
    assert_eq!(shown, [(ops, "create"), (None, "change"), (ops, "change"), (ops, "delete")]);
    let details: Vec<&str> = entries.iter().map(|entry| entry.detail.as_str()).rev().collect();
    assert!(details[0].starts_with("policies: none → [{"), "{details:?}");
    assert!(details[1].starts_with("policies.a.tiers.0.limit: 1 → 2, policies.a.message: none → xx"), "{details:?}");
    assert!(details[2].ends_with("→ later"), "{details:?}");
    assert!(details[3].starts_with("policies: [{") && details[3].ends_with("→ none"), "{details:?}");
}

#[tokio::test]
async fn of_all_changes_the_latest_thousand_are_kept() {
    let bench = Bench::new().await;
    let services = intake(&bench).await;
    let mut fill = redis::pipe();
    for n in 0..1000 {
        fill.cmd("XADD").arg("dripfeed:{@services}:audit").arg("*").arg("service").arg(format!("s{n}")).ignore();
    }
    bench.store.pipeline::<()>(&fill).await.unwrap();
    services.put(&shop(), &rules(1, &json!({})), None).await.unwrap();
    let entries = services.audit_trail().await.unwrap();
    assert_eq!(entries.len(), 1000);
    assert_eq!((entries[0].service.as_str(), entries[999].service.as_str()), ("shop", "s1"));
}

#[tokio::test]
async fn a_log_that_takes_no_entry_keeps_rules_as_they_are() {
    let bench = Bench::new().await;
    let services = intake(&bench).await;
    services.put(&shop(), &rules(1, &json!({})), None).await.unwrap();
    bench.store.command::<()>(redis::cmd("DEL").arg("dripfeed:{@services}:audit")).await.unwrap();
    bench.store.command::<()>(redis::cmd("SET").arg("dripfeed:{@services}:audit").arg("x")).await.unwrap();
    assert!(matches!(services.put(&shop(), &rules(2, &json!({})), None).await, Err(RegistryError::Store(_))));
    assert!(matches!(services.delete(&shop(), None).await, Err(RegistryError::Store(_))));
    assert_eq!(
        services.current_rules(&shop()).await.unwrap().map(|rules| rules.version()),
        Some(rules(1, &json!({})).version())
    );
}
