//! Describes changes of settings for the audit log: `leak.rate: 5/s → 10/s`.

use dripfeed_bucket::{Bucket, Census, LONGEST_AUDIT_TEXT, Overrides};
use serde_json::Value;

/// In characters. Of a longer value, the part that differs is shown.
const MAX_VALUE: usize = 80;
/// How many characters before that part are shown.
const BEFORE: usize = 20;
const BETWEEN: &str = ", ";

/// Describes the change of a setting.
pub(super) fn of(name: &str, from: &Value, to: &Value) -> String {
    let (from, to) = (text(from), text(to));
    let same = from.chars().zip(to.chars()).take_while(|(from, to)| from == to).count();
    let start = same.saturating_sub(BEFORE);
    format!("{name}: {} → {}", shortened(&from, start), shortened(&to, start))
}

/// Describes the settings of a change that differ from the state `before`.
pub(super) fn all(bucket: &Bucket, before: &Census, wanted: &Overrides) -> Vec<String> {
    let (settings, limits) = wanted.over(&before.settings, &before.limits);
    let changes = wanted.iter().filter_map(|(setting, value)| {
        let from = setting.value(&before.settings, &before.limits);
        let to = match value {
            Some(_) => setting.value(&settings, &limits),
            None => setting.value(&bucket.settings(), &bucket.limits()),
        };
        // Whether the setting is overridden may change without its value.
        let is_kept = before.overrides.has(setting.name) == value.is_some();
        let restored = if value.is_none() { " (as configured)" } else { "" };
        (from != to || !is_kept).then(|| of(setting.name, &from, &to) + restored)
    });
    changes.collect()
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
        assert_eq!(of("leak.rate", &Value::Null, &json!("10/s")), "leak.rate: none → 10/s");
        assert_eq!(of("fair.weights", &json!({}), &json!({"shop": 4})), "fair.weights: {} → {\"shop\":4}");
    }

    #[test]
    fn of_a_long_value_the_part_that_differs_is_shown() {
        let flows = |rate: &str| json!({ "a".repeat(200): {}, "shop": { "rate": rate }, "z".repeat(200): {} });
        let change = of("fair.flows", &flows("5/s"), &flows("10/s"));
        assert!(change.contains("\"shop\":{\"rate\":\"5/s\"") && change.contains("\"rate\":\"10/s\""), "{change}");
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
