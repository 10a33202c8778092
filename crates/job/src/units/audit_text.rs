//! Texts of audit logs: changes of values as `leak.rate: 5/s → 10/s`.

use serde_json::Value;

/// The maximum number of characters of the text of an entry. The rest is cut.
pub const LONGEST: usize = 300;
/// In characters. Of a longer value, the part that differs is shown.
const MAX_VALUE: usize = 80;
/// How many members of a long value are described separately.
const MOST_PARTS: usize = 8;
/// How many characters before the part that differs are shown.
const BEFORE: usize = 20;
const BETWEEN: &str = ", ";

/// Describes the change of a setting. Of a long value, each member that differs is described, unless many do.
#[must_use]
pub fn change(name: &str, from: &Value, to: &Value) -> Vec<String> {
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
    format!("{name}: {} → {}", excerpt(&from, start), excerpt(&to, start))
}

/// Joins the descriptions into as few texts as possible.
#[must_use]
pub fn joined(changes: Vec<String>) -> Vec<String> {
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
    text.chars().count() + BETWEEN.len() + change.chars().count() <= LONGEST
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn excerpt(text: &str, start: usize) -> String {
    if text.chars().count() <= MAX_VALUE {
        return text.to_owned();
    }
    let shown: String = text.chars().skip(start).take(MAX_VALUE).collect();
    let before = if start > 0 { "…" } else { "" };
    let after = if text.chars().count() > start + MAX_VALUE { "…" } else { "" };
    format!("{before}{shown}{after}")
}

/// Cuts a text to [`LONGEST`].
#[must_use]
pub fn shortened(text: &str) -> &str {
    let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(end, _)| end);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_short_value_is_shown_whole() {
        assert_eq!(change("leak.rate", &Value::Null, &json!("10/s")), ["leak.rate: none → 10/s"]);
        assert_eq!(change("fair.weights", &json!({}), &json!({"shop": 4})), ["fair.weights: {} → {\"shop\":4}"]);
    }

    #[test]
    fn of_a_long_value_each_member_that_differs_is_shown() {
        let flows = |rate: &str| json!({ "a".repeat(200): {}, "shop": { "rate": rate }, "z".repeat(200): {} });
        assert_eq!(change("fair.flows", &flows("5/s"), &flows("10/s")), ["fair.flows.shop.rate: 5/s → 10/s"]);
        let limits = |message: &str, rate: &str| {
            let tiers = json!([{ "burst": 100, "kind": "bucket", "rate": rate }]);
            json!([{ "id": "each", "key": ["caller"], "message": message, "tiers": tiers }])
        };
        let changes = change("limits", &limits("slow down", "50/s"), &limits("later", "40/s"));
        assert_eq!(changes, ["limits.each.message: slow down → later", "limits.each.tiers.0.rate: 50/s → 40/s"]);
        let weights = |caller: &str| json!({ caller: 4, "z".repeat(200): 1 });
        let renamed = change("fair.weights", &weights("shop"), &weights("mail"));
        assert_eq!(renamed, ["fair.weights.shop: 4 → none", "fair.weights.mail: none → 4"]);
    }

    #[test]
    fn where_many_members_differ_the_first_part_that_differs_is_shown() {
        let flows = |rate: &str| (0..100).map(|n| (format!("caller-{n}"), json!({ "rate": rate }))).collect::<Value>();
        let changes = change("fair.flows", &flows("5/s"), &flows("10/s"));
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
        assert!(texts.iter().all(|text| text.len() <= LONGEST));
    }
}
