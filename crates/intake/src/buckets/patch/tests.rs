#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::json;

use super::*;

fn changes(text: &str) -> Result<Overrides, Json> {
    let problem = |problem: Problem| serde_json::to_value(&problem).unwrap();
    json::read::<Patch>(text.as_bytes()).and_then(Patch::overrides).map_err(problem)
}

#[test]
fn every_setting_can_be_changed() {
    let text = r#"{"capacity": 50, "capacity_bytes": "64MiB", "max_share": "12.5%",
        "leak": {"rate": "10/s", "burst": 10, "adaptive": false, "concurrency": 5, "max_in_flight": 20}}"#;
    let all = [
        ("capacity", json!(50)),
        ("capacity_bytes", json!(64 << 20)),
        ("max_share", json!("12.5%")),
        ("leak.rate", json!("10/s")),
        ("leak.burst", json!(10)),
        ("leak.adaptive", json!(false)),
        ("leak.concurrency", json!(5)),
        ("leak.max_in_flight", json!(20)),
    ];
    let one = |(name, value)| Overrides::of(name, value).unwrap();
    assert_eq!(changes(text).unwrap(), all.map(one).into_iter().fold(Overrides::default(), Overrides::and));
    assert_eq!(changes(r#"{"capacity_bytes": 1000}"#).unwrap(), one(("capacity_bytes", json!(1000))));
}

#[test]
fn omitted_settings_stay_and_null_restores() {
    assert_eq!(changes("{}").unwrap(), Overrides::default());
    let back = changes(r#"{"capacity": null, "capacity_bytes": null, "pace": {"target": null}}"#).unwrap();
    let restored: Vec<_> = back.iter().map(|(setting, value)| (setting.name, value)).collect();
    assert_eq!(restored, [("capacity", None), ("capacity_bytes", None), ("leak.rate", None)]);
}

#[test]
fn a_limit_can_be_lifted() {
    let text = r#"{"max_share": "none", "fair": {"rate": "none", "max_in_flight": "none"},
        "leak": {"rate": "none", "max_in_flight": "none"}}"#;
    let lifted = changes(text).unwrap();
    assert_eq!(lifted.iter().filter(|(_, value)| *value == Some(&json!("none"))).count(), 5);
    assert_eq!(changes(r#"{"pace": {"target": "none"}}"#), changes(r#"{"leak": {"rate": "none"}}"#));
    for text in [r#"{"leak": {"max_in_flight": 0}}"#, r#"{"leak": {"rate": ""}}"#, r#"{"pace": {"target": 7}}"#] {
        let problem = changes(text).unwrap_err();
        assert!(problem["detail"].as_str().unwrap().ends_with("; use none for no limit"), "{problem}");
    }
    for text in [r#"{"capacity": "none"}"#, r#"{"leak": {"burst": "none"}}"#, r#"{"leak": {"concurrency": "none"}}"#] {
        assert_eq!(changes(text).unwrap_err()["code"], "bad_member", "{text}");
    }
}

#[test]
fn no_setting_is_given_twice() {
    for (text, field, member) in [
        (r#"{"capacity": 1, "capacity": 2}"#, "capacity", "capacity"),
        (r#"{"leak": {"rate": "1/s"}, "leak": {"burst": 2}}"#, "leak", "leak"),
        (r#"{"leak": {"rate": "1/s", "rate": "2/s"}}"#, "rate", "leak.rate"),
        (r#"{"limits": {"policies": [], "policies": []}}"#, "policies", "limits.policies"),
        (r#"{"fair": {"weights": {"a": 1, "a": 2}}}"#, "a", "fair.weights.a"),
    ] {
        let problem = changes(text).unwrap_err();
        assert_eq!(problem["code"], "bad_member", "{text}: {problem}");
        assert_eq!(
            (&problem["detail"], &problem["member"]),
            (&json!(format!("duplicate field `{field}`")), &json!(member))
        );
    }
}

#[test]
fn limits_are_accepted_as_a_whole_or_not_at_all() {
    let gate = r#"{"id": "each", "tiers": [{"kind": "gate", "period": "1s"}]}"#;
    let ids = |text: String| {
        let changes = changes(&text).unwrap();
        let limits = changes.iter().find_map(|(_, limits)| limits?.as_array());
        limits.map(|limits| limits.iter().map(|policy| policy["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(ids(format!(r#"{{"limits": [{gate}]}}"#)), Some(vec!["each".to_owned()]));
    assert_eq!(ids(format!(r#"{{"limits": {{"policies": [{gate}]}}}}"#)), Some(vec!["each".to_owned()]));
    assert_eq!(ids(r#"{"limits": []}"#.to_owned()), Some(vec![]));
    assert_eq!(ids(r#"{"limits": null}"#.to_owned()), None);
    let open = gate.replace("}]}", "}], \"on_store_error\": \"open\"}");
    for (limits, member) in [
        ("1".to_owned(), "limits"),
        ("{}".to_owned(), "limits"),
        (format!(r#"{{"policies": [{gate}], "more": 1}}"#), "limits"),
        (format!("[{gate}, 7]"), "limits[1]"),
        (format!("[{gate}, {gate}]"), "limits[1].id"),
        (format!(r#"{{"policies": [{open}]}}"#), "limits.policies[0].on_store_error"),
    ] {
        let problem = changes(&format!(r#"{{"limits": {limits}}}"#)).unwrap_err();
        assert_eq!((&problem["status"], &problem["member"]), (&422.into(), &member.into()), "{limits}: {problem}");
    }
}

#[test]
fn the_target_pace_is_the_leak_rate() {
    let rate = changes(r#"{"leak": {"rate": "10/s"}}"#);
    assert_eq!(changes(r#"{"pace": {"target": "10/s"}}"#), rate);
    assert_eq!(changes(r#"{"pace": {"target": "10/s"}, "leak": {"rate": "10/1s"}}"#), rate);
    let both = changes(r#"{"pace": {"target": "10/s"}, "leak": {"rate": "11/s"}}"#).unwrap_err();
    assert_eq!(both["member"], "pace.target");
}

#[test]
fn an_invalid_setting_is_refused_with_its_place() {
    for (text, member) in [
        (r#"{"capacity": 0}"#, "capacity"),
        (r#"{"capacity": -1}"#, "capacity"),
        (r#"{"capacity": 1.5}"#, "capacity"),
        (r#"{"capacity": 9007199254740992}"#, "capacity"),
        (r#"{"capacity_bytes": "64"}"#, "capacity_bytes"),
        (r#"{"capacity_bytes": 0}"#, "capacity_bytes"),
        (r#"{"max_share": "0%"}"#, "max_share"),
        (r#"{"max_share": 25}"#, "max_share"),
        (r#"{"leak": {"rate": "0/s"}}"#, "leak.rate"),
        (r#"{"leak": {"burst": "10"}}"#, "leak.burst"),
        (r#"{"leak": {"concurrency": 0}}"#, "leak.concurrency"),
        (r#"{"leak": {"speed": 1}}"#, "leak.speed"),
        (r#"{"leak": {"adaptive": 1}}"#, "leak.adaptive"),
        (r#"{"leak": {"tiers": 1}}"#, "leak.tiers"),
        (
            r#"{"leak": {"tiers": [{"kind": "gate", "period": "1s"}, {"kind": "log", "rate": "10/s"}]}}"#,
            "leak.tiers[1]",
        ),
        (r#"{"leak": {"tiers": [{"kind": "fixed", "limit": "many", "period": "1s"}]}}"#, "leak.tiers[0].limit"),
        (r#"{"fair": {"tiers": 1}}"#, "fair.tiers"),
        (r#"{"fair": {"tiers": [{"rate": "1/s"}, {"rate": "1/s", "kind": "fixed"}]}}"#, "fair.tiers[1]"),
        (r#"{"fair": {"flows": {"shop": {"tiers": [{"burst": 2}]}}}}"#, "fair.flows.shop.tiers[0]"),
        (r#"{"size": 1}"#, "size"),
        (r#"{"leak": ["10/s"]}"#, "leak"),
    ] {
        let problem = changes(text).unwrap_err();
        assert_eq!((&problem["status"], &problem["member"]), (&422.into(), &member.into()), "{text}: {problem}");
    }
}

#[test]
fn malformed_json_is_refused_with_its_place() {
    for text in ["", "{", "{\"capacity\": NaN}", "{} {}", "capacity=1"] {
        let problem = changes(text).unwrap_err();
        assert_eq!((&problem["status"], &problem["line"]), (&400.into(), &1.into()), "{text}: {problem}");
    }
}

#[test]
fn a_fault_names_what_is_valid_and_no_type_of_the_program() {
    for (text, expected) in [
        (r#"{"leak": {"concurrency": 0}}"#, "invalid value: integer `0`, expected 1 to 65535"),
        (r#"{"leak": {"concurrency": 70000}}"#, "invalid value: integer `70000`, expected 1 to 65535"),
        (r#"{"capacity": -1}"#, "invalid value: integer `-1`, expected a whole number, 0 or more"),
        (r#"{"fair": {"flows": {"a": {"weight": 70000}}}}"#, "the weight is out of range: use 1 to 1000"),
        (r#"{"fair": {"flows": {"a": 1}}}"#, "an object of weight, rate, burst, tiers, max_in_flight and paused"),
        (
            r#"{"fair": {"flows": {"a": {"max_in_flight": "2"}}}}"#,
            r#"invalid value: string "2", expected a number from 1 to 2^53 - 1, or `none`"#,
        ),
        (
            r#"{"fair": {"tiers": [{"rate": "1/s", "burst": -1}]}}"#,
            "invalid value: integer `-1`, expected a whole number, 0 or more",
        ),
    ] {
        let problem = changes(text).unwrap_err().to_string().replace(r#"\""#, "\"");
        assert!(problem.contains(expected), "{text}: {problem}");
    }
}
