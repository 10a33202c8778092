//! A policy of a service or a bucket as table cells: id, key, tiers.

use maud::{Markup, html};
use serde_json::Value;

pub(crate) const COLUMNS: [&str; 3] = ["policy", "counts by", "limits"];

pub(crate) fn cells(policy: &Value) -> Markup {
    let list = |name: &str| policy[name].as_array().map(Vec::as_slice).unwrap_or_default();
    let keys: Vec<&str> = list("key").iter().filter_map(Value::as_str).collect();
    html! {
        th scope="row" { (policy["id"].as_str().unwrap_or_default()) }
        td { @if keys.is_empty() { "one for all" } @else { (keys.join(", ")) } }
        td { @for tier in list("tiers") { span.tier { (described(tier)) } } }
    }
}

/// `bucket 10/s, burst 20`; whatever else it has, by name.
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
