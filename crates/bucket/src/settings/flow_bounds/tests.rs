use super::*;

fn read(text: &str) -> Result<NamedFlows, String> {
    serde_json::from_str(text).map_err(|error| error.to_string())
}

#[test]
fn what_is_read_is_shown() {
    let shop = r#"{"burst":2,"max_in_flight":3,"rate":"1/s","tiers":[{"burst":9,"rate":"9/h"}],"weight":4}"#;
    let text = &format!(r#"{{"mail":{{"paused":true}},"none":{{"tiers":[]}},"shop":{shop}}}"#);
    let named = read(text).unwrap_or_default();
    assert_eq!(named.to_json().to_string(), *text);
    assert_eq!(named.weights().map(|(name, weight)| (name.as_str(), weight)).collect::<Vec<_>>(), [("shop", 4)]);
}

#[test]
fn one_may_be_without_the_limits_of_each() {
    let text = r#"{"free":{"max_in_flight":"none","rate":"none"},"shop":{"max_in_flight":3}}"#;
    let named = read(text).unwrap_or_default();
    assert_eq!(named.to_json().to_string(), text);
    let rate = "1/s".parse().ok();
    let each = FlowBounds { rate, max_in_flight: Some(2), ..FlowBounds::default() };
    let over = |name| named.of(name).map(|flow| flow.over(&each)).map(|bounds| (bounds.rate, bounds.max_in_flight));
    assert_eq!(over("free"), Some((None, None)));
    assert_eq!(over("shop"), Some((rate, Some(3))));
    for (text, why) in [
        (r#"{"shop": {"rate": "many"}}"#, "`many` is not a rate"),
        (r#"{"shop": {"rate": 5}}"#, "expected a rate such as 10/s, or `none`"),
        (r#"{"shop": {"max_in_flight": "free"}}"#, "expected a number from 1 to 2^53 - 1, or `none`"),
        (r#"{"shop": {"max_in_flight": -1}}"#, "expected a number from 1 to 2^53 - 1, or `none`"),
    ] {
        assert!(read(text).is_err_and(|error| error.contains(why)), "{text}");
    }
}

#[test]
fn what_would_mean_nothing_is_refused() {
    for text in [
        r#"{"": {}}"#,
        r#"{"shop": {"weight": 0}}"#,
        r#"{"shop": {"rate": "0/s"}}"#,
        r#"{"shop": {"max_in_flight": 0}}"#,
        r#"{"shop": {"burst": 0}}"#,
        r#"{"shop": {"speed": 1}}"#,
        r#"{"shop": {"tiers": {"rate": "1/s"}}}"#,
    ] {
        assert!(read(text).is_err(), "{text}");
    }
}

#[test]
fn what_is_wrong_has_its_place() {
    let place = |text: &str| {
        let fault = NamedFlows::read("fair.flows", &text.parse().unwrap_or_default()).err();
        fault.and_then(|error| Some(error.faults().first()?.place.clone())).unwrap_or_default()
    };
    assert_eq!(place(r#"{"shop": {"tiers": [{"rate": "1/s"}]}}"#), "");
    assert_eq!(place(r#"{"shop": {"speed": 1}}"#), "fair.flows.shop");
    assert_eq!(place(r#"{"shop": {"tiers": [{"rate": "1/s", "kind": "log"}]}}"#), "fair.flows.shop.tiers[0]");
    assert_eq!(place(r#"{"": {}}"#), "fair.flows");
    assert_eq!(place("[]"), "fair.flows");
}
