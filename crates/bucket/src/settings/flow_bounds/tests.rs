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
