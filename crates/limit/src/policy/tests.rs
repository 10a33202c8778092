#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use super::*;

const SECOND: Duration = Duration::from_secs(1);

fn settings(tiers: Vec<Tier>) -> PolicySettings {
    PolicySettings::new("a".parse().unwrap(), tiers)
}

fn gate() -> Tier {
    Tier::gate(SECOND).unwrap()
}

fn broken(settings: PolicySettings) -> (String, PolicyFault) {
    let bad = Policy::new(settings).unwrap_err();
    let [fault] = bad.faults() else { unreachable!("{bad}") };
    (fault.place(), fault.clone())
}

#[test]
fn each_broken_rule_is_named_with_its_place() {
    assert_eq!(broken(settings(vec![])).1, PolicyFault::NoTiers);
    assert_eq!(broken(settings(vec![gate(); 17])).1, PolicyFault::ManyTiers(17));

    let costly = PolicySettings { cost: Cost::Constant(2), ..settings(vec![gate()]) };
    assert_eq!(broken(costly), ("tiers[0]".to_owned(), PolicyFault::CostNeverPasses { tier: 0, cost: 2, most: 1 }));

    let key = vec![KeyPart::Caller, KeyPart::Path("org".to_owned())];
    let unknown = PolicySettings { key, ..settings(vec![gate()]) };
    let bad = PolicyFault::UnknownVariable { part: 1, name: "org".to_owned() };
    assert_eq!(broken(unknown), ("key[1]".to_owned(), bad));

    let spread = Tier::fixed(1, SECOND, Align::Epoch { spread: Some(KeyPart::Tenant) }).unwrap();
    assert!(matches!(broken(settings(vec![gate(), spread])).1, PolicyFault::SpreadNotInKey { tier: 1, .. }));

    let leased = |tier| PolicySettings { consistency: Consistency::Leased, ..settings(vec![tier]) };
    assert!(matches!(broken(leased(gate())).1, PolicyFault::NotLeasable { kind: "gate", .. }));
    let small = Tier::bucket(10, SECOND, 7).unwrap();
    assert_eq!(broken(leased(small)).1, PolicyFault::SmallLeasedBurst { tier: 0, burst: 7 });

    let log = Tier::log(1, SECOND, Duration::ZERO, false).unwrap();
    let counted = |tier, sync| PolicySettings { consistency: Consistency::Async { sync }, ..settings(vec![tier]) };
    assert!(matches!(broken(counted(log, SECOND)).1, PolicyFault::NotAsync { kind: "log", .. }));
    assert_eq!(broken(counted(gate(), Duration::ZERO)).1, PolicyFault::Sync(Duration::ZERO));
}

#[test]
fn all_that_is_broken_is_reported_together() {
    let spread = Tier::fixed(5, SECOND, Align::Epoch { spread: Some(KeyPart::Tenant) }).unwrap();
    let wrong = PolicySettings {
        key: vec![KeyPart::Path("org".to_owned())],
        cost: Cost::Constant(9),
        consistency: Consistency::Leased,
        max_scopes: 0,
        ..settings(vec![gate(), spread, Tier::bucket(10, SECOND, 7).unwrap()])
    };
    let bad = Policy::new(wrong).unwrap_err();
    let places: Vec<String> = bad.faults().iter().map(PolicyFault::place).collect();
    let expected = ["key[0]", "tiers[0]", "tiers[0]", "tiers[1]", "tiers[1]", "tiers[2]", "max_scopes"];
    assert_eq!(places, expected, "{bad}");
    assert_eq!(bad.to_string().lines().count(), expected.len());
}

#[test]
fn ids_are_plain() {
    for id in ["put-product", "a", "A.b_c-9"] {
        assert_eq!(id.parse::<PolicyId>().unwrap().to_string(), id);
    }
    for id in ["", "a b", "a:b", "{a}", &"x".repeat(65)] {
        assert!(id.parse::<PolicyId>().is_err(), "{id}");
    }
}
