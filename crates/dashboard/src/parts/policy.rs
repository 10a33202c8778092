//! A policy of a service or a bucket as table cells: id, key, tiers.

use maud::{Markup, html};
use serde_json::Value;

pub(crate) const COLUMNS: [&str; 3] = ["policy", "counts by", "limits"];

pub(crate) fn cells(policy: &Value) -> Markup {
    let list = |name: &str| policy[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let keys: Vec<&str> = list("key").iter().filter_map(Value::as_str).collect();
    html! {
        th scope="row" {
            (policy["id"].as_str().unwrap_or_default())
            @for note in notes(policy) { " " span.faint { (note) } }
        }
        td { @if keys.is_empty() { "one for all" } @else { (keys.join(", ")) } }
        td { @for tier in list("tiers") { span.tier { (described(tier)) } } }
    }
}

/// Notes if the policy isn't enforced, and the requests that it matches.
fn notes(policy: &Value) -> Vec<String> {
    let mode = match (policy["enabled"].as_bool(), policy["mode"].as_str()) {
        (Some(false), _) => Some("disabled"),
        (_, Some(mode)) if mode != "enforce" => Some(mode),
        _ => None,
    };
    let methods = policy["match"]["methods"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let matched: Vec<&str> = methods.chain(policy["match"]["path"].as_str()).collect();
    let matched = (!matched.is_empty()).then(|| format!("of {}", matched.join(" ")));
    mode.map(str::to_owned).into_iter().chain(matched).collect()
}

/// `bucket 10/s, burst 20`, and all other members by name.
fn described(tier: &Value) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut shown = text(&tier["kind"]);
    match (&tier["rate"], &tier["limit"], &tier["period"]) {
        (Value::Null, Value::Null, period) => shown += &format!(" {}", text(period)),
        (Value::Null, limit, Value::Null) => shown += &format!(" {}", text(limit)),
        (Value::Null, limit, period) => shown += &format!(" {} per {}", text(limit), text(period)),
        (rate, _, _) => shown += &format!(" {}", text(rate)),
    }
    for (name, value) in tier.as_object().into_iter().flatten() {
        if !matches!(name.as_str(), "kind" | "rate" | "limit" | "period") && !value.is_null() {
            shown += &format!(", {name} {}", text(value));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_policy_that_is_not_enforced_or_not_for_all_requests_says_so() {
        let tiers = json!([{ "kind": "gate", "period": "1s" }]);
        for (policy, notes) in [
            (json!({ "id": "a", "mode": "enforce", "tiers": tiers }), &[][..]),
            (json!({ "id": "a", "mode": "shadow", "tiers": tiers }), &["shadow"]),
            (json!({ "id": "a", "mode": "shadow", "enabled": false, "tiers": tiers }), &["disabled"]),
            (
                json!({ "id": "a", "mode": "off", "match": { "methods": ["GET", "PUT"], "path": "/v1/<b>" } }),
                &["off", "of GET PUT /v1/&lt;b&gt;"],
            ),
        ] {
            let shown = cells(&policy).into_string();
            let expected: String = notes.iter().map(|note| format!(" <span class=\"faint\">{note}</span>")).collect();
            assert!(shown.starts_with(&format!("<th scope=\"row\">a{expected}</th>")), "{shown}");
        }
    }
}
