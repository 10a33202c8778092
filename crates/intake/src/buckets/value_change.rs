//! Describes changes of settings for the audit log: `leak.rate: 5/s → 10/s`.

use dripfeed_bucket::{Bucket, Census, LONGEST_AUDIT_TEXT, Overrides};
use serde_json::Value;

/// In characters. Of a longer value, the part that differs is shown.
const MAX_VALUE: usize = 80;
/// How many members of a long value are described separately.
const MOST_PARTS: usize = 8;
/// How many characters before the part that differs are shown.
const BEFORE: usize = 20;
const BETWEEN: &str = ", ";

/// Describes the change of a setting. Of a long value, each member that differs is described, unless many do.
pub(super) fn of(name: &str, from: &Value, to: &Value) -> Vec<String> {
    let is_long = |value: &Value| text(value).chars().count() > MAX_VALUE;
    if is_long(from) || is_long(to) {
        let mut parts = Vec::new();
        add_members(name, from, to, &mut parts);
        if (1..=MOST_PARTS).contains(&parts.len()) {
            return parts;
        }
    }
    vec![one(name, from, to)]
}

/// Adds the members of two objects or lists that differ, by their path. An item of a list is named by its `id`.
fn add_members(name: &str, from: &Value, to: &Value, parts: &mut Vec<String>) {
    match (from, to) {
        _ if from == to => {}
        (Value::Object(old), Value::Object(new)) => {
            let added = new.keys().filter(|member| !old.contains_key(*member));
            for member in old.keys().chain(added) {
                add_members(&format!("{name}.{member}"), &from[member], &to[member], parts);
            }
        }
        (Value::Array(old), Value::Array(new)) if old.len() == new.len() => {
            for (at, (from, to)) in old.iter().zip(new).enumerate() {
                let id = from["id"].as_str().filter(|id| to["id"] == **id);
                let item = id.map_or_else(|| format!("{name}.{at}"), |id| format!("{name}.{id}"));
                add_members(&item, from, to, parts);
            }
        }
        _ => parts.push(one(name, from, to)),
    }
}

fn one(name: &str, from: &Value, to: &Value) -> String {
    let (from, to) = (text(from), text(to));
    let same = from.chars().zip(to.chars()).take_while(|(from, to)| from == to).count();
    let start = same.saturating_sub(BEFORE);
    format!("{name}: {} → {}", shortened(&from, start), shortened(&to, start))
}

/// Describes the settings of a change that differ from the state `before`.
pub(super) fn all(bucket: &Bucket, before: &Census, wanted: &Overrides) -> Vec<String> {
    let (settings, limits) = wanted.over(&before.settings, &before.limits);
    let changes = wanted.iter().flat_map(|(setting, value)| {
        let from = setting.value(&before.settings, &before.limits);
        let to = match value {
            Some(_) => setting.value(&settings, &limits),
            None => setting.value(&bucket.settings(), &bucket.limits()),
        };
        // Whether the setting is overridden may change without its value.
        let is_kept = before.overrides.has(setting.name) == value.is_some();
        let restored = if value.is_none() { " (as configured)" } else { "" };
        let changed = if from == to && is_kept { Vec::new() } else { of(setting.name, &from, &to) };
        changed.into_iter().map(move |change| change + restored)
    });
    changes.collect()
}

/// Describes the change of a service's rules. `before`: `None` for a new service.
pub(crate) fn of_rules(before: Option<&Value>, after: &Value) -> String {
    match before {
        None => "created".to_owned(),
        Some(before) if before == after => "as before".to_owned(),
        Some(before) => of("policies", &before["policies"], &after["policies"]).join(BETWEEN),
    }
}

/// Joins the descriptions into as few texts as possible.
pub(super) fn joined(changes: Vec<String>) -> Vec<String> {
    let mut texts = Vec::<String>::new();
    for change in changes {
        match texts.last_mut() {
            Some(text) if fits(text, &change) => *text = format!("{text}{BETWEEN}{change}"),
            _ => texts.push(change),
        }
    }
    texts
}

fn fits(text: &str, change: &str) -> bool {
    text.chars().count() + BETWEEN.len() + change.chars().count() <= LONGEST_AUDIT_TEXT
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn shortened(text: &str, start: usize) -> String {
    if text.chars().count() <= MAX_VALUE {
        return text.to_owned();
    }
    let shown: String = text.chars().skip(start).take(MAX_VALUE).collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if text.chars().count() > start + MAX_VALUE { "…" } else { "" };
    format!("{before}{shown}{after}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_short_value_is_shown_whole() {
        assert_eq!(of("leak.rate", &Value::Null, &json!("10/s")), ["leak.rate: none → 10/s"]);
        assert_eq!(of("fair.weights", &json!({}), &json!({"shop": 4})), ["fair.weights: {} → {\"shop\":4}"]);
    }

    #[test]
    fn of_a_long_value_each_member_that_differs_is_shown() {
        let flows = |rate: &str| json!({ "a".repeat(200): {}, "shop": { "rate": rate }, "z".repeat(200): {} });
        assert_eq!(of("fair.flows", &flows("5/s"), &flows("10/s")), ["fair.flows.shop.rate: 5/s → 10/s"]);
        let limits = |message: &str, rate: &str| {
            let tiers = json!([{ "burst": 100, "kind": "bucket", "rate": rate }]);
            json!([{ "id": "each", "key": ["caller"], "message": message, "tiers": tiers }])
        };
        let changes = of("limits", &limits("slow down", "50/s"), &limits("later", "40/s"));
        assert_eq!(changes, ["limits.each.message: slow down → later", "limits.each.tiers.0.rate: 50/s → 40/s"]);
        let weights = |caller: &str| json!({ caller: 4, "z".repeat(200): 1 });
        let renamed = of("fair.weights", &weights("shop"), &weights("mail"));
        assert_eq!(renamed, ["fair.weights.shop: 4 → none", "fair.weights.mail: none → 4"]);
    }

    #[test]
    fn of_rules_each_member_that_differs_is_shown() {
        let rules = |limit: u64| {
            let tiers = json!([{ "kind": "fixed", "limit": limit, "period": "1h", "align": "first" }]);
            json!({ "policies": [{ "id": "each", "key": ["caller"], "message": "slow down", "tiers": tiers }] })
        };
        assert_eq!(of_rules(None, &rules(1)), "created");
        assert_eq!(of_rules(Some(&rules(1)), &rules(1)), "as before");
        assert_eq!(of_rules(Some(&rules(1)), &rules(2)), "policies.each.tiers.0.limit: 1 → 2");
    }

    #[test]
    fn where_many_members_differ_the_first_part_that_differs_is_shown() {
        let flows = |rate: &str| (0..100).map(|n| (format!("caller-{n}"), json!({ "rate": rate }))).collect::<Value>();
        let changes = of("fair.flows", &flows("5/s"), &flows("10/s"));
        assert_eq!(changes.len(), 1, "{changes:?}");
        let change = &changes[0];
        assert!(change.contains("\"rate\":\"5/s\"") && change.contains("\"rate\":\"10/s\""), "{change}");
        assert!(change.chars().count() < 200, "{change}");
    }

    #[test]
    fn no_change_is_cut_for_others() {
        let changes: Vec<String> = (0..17).map(|number| format!("{number}: {}", "x".repeat(100))).collect();
        let texts = joined(changes.clone());
        assert_eq!((texts.len(), texts.join(BETWEEN)), (9, changes.join(BETWEEN)));
        assert!(texts.iter().all(|text| text.len() <= LONGEST_AUDIT_TEXT));
    }
}
