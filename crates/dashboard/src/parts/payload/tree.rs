//! JSON as a tree whose branches open and close, without a script.

use maud::{Markup, html};
use serde_json::Value;

/// Branches below are closed.
const OPEN: usize = 2;
/// Of a branch: more is in the text.
const MOST_SHOWN: usize = 200;

pub(super) fn of(json: &Value) -> Markup {
    html! { div.tree { (node(None, json, 0)) } }
}

fn node(name: Option<&str>, value: &Value, depth: usize) -> Markup {
    match value {
        Value::Object(members) if !members.is_empty() => {
            let count = format!("{{{}}}", members.len());
            let inner = members.iter().map(|(name, value)| node(Some(name), value, depth + 1));
            branch(name, &count, inner, depth)
        }
        Value::Array(items) if !items.is_empty() => {
            let inner = items.iter().enumerate().map(|(at, value)| node(Some(&at.to_string()), value, depth + 1));
            branch(name, &format!("[{}]", items.len()), inner, depth)
        }
        leaf => html! { div { (named(name)) span.(kind(leaf)) { (leaf) } } },
    }
}

fn branch(name: Option<&str>, count: &str, inner: impl ExactSizeIterator<Item = Markup>, depth: usize) -> Markup {
    let others = inner.len().saturating_sub(MOST_SHOWN);
    html! {
        details open[depth < OPEN] {
            summary { (named(name)) span.faint { (count) } }
            @for one in inner.take(MOST_SHOWN) { (one) }
            @if others > 0 { div.faint { "and " (others) " more" } }
        }
    }
}

fn named(name: Option<&str>) -> Markup {
    html! { @if let Some(name) = name { span.member { (name) } ": " } }
}

/// The class of a value.
fn kind(value: &Value) -> &'static str {
    match value {
        Value::String(_) => "text",
        Value::Number(_) => "digits",
        _ => "word",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn branches_open_and_leaves_are_escaped() {
        let tree = of(&json!({ "a": { "<b>": ["</script>", 1, null, {}] } })).into_string();
        assert_eq!(tree.matches("<details open>").count(), 2, "{tree}");
        assert_eq!(tree.matches("<details>").count(), 1, "{tree}");
        assert!(tree.contains("&lt;b&gt;") && tree.contains("&lt;/script&gt;"), "{tree}");
        let long = of(&json!(vec![0; MOST_SHOWN + 3])).into_string();
        assert!(long.contains("and 3 more"), "{long}");
    }
}
