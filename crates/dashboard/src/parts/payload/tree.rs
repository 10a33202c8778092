//! JSON as a collapsible tree, without JavaScript.

use dripfeed_job::members::Members;
use maud::{Markup, html};
use serde_json::Value;
use serde_json::value::RawValue;

/// Deeper branches are closed at first.
const OPEN: usize = 2;
/// Maximum number of items of a branch; the text has all of them.
const MOST_SHOWN: usize = 200;
/// The maximum depth of the parser.
const DEEPEST: usize = 127;

/// Keeps the order of members and all digits of numbers, unlike `serde_json::Value`.
pub(super) enum Node<'j> {
    Object(Vec<(String, Node<'j>)>),
    Array(Vec<Node<'j>>),
    Leaf(&'j str),
}

/// Parses an object or an array. Returns `None` for any other text, or if it is truncated.
pub(super) fn parsed(json: &str) -> Option<Node<'_>> {
    node(serde_json::from_str::<&RawValue>(json).ok()?, 0).filter(|node| !matches!(node, Node::Leaf(_)))
}

fn node(json: &RawValue, depth: usize) -> Option<Node<'_>> {
    let json = json.get();
    match json.bytes().next() {
        Some(b'{' | b'[') if depth == DEEPEST => None,
        Some(b'{') => {
            let Members(members) = serde_json::from_str(json).ok()?;
            let inner = members.into_iter().map(|(name, value)| Some((name, node(value, depth + 1)?)));
            inner.collect::<Option<_>>().map(Node::Object)
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(json).ok()?;
            items.into_iter().map(|item| node(item, depth + 1)).collect::<Option<_>>().map(Node::Array)
        }
        _ => Some(Node::Leaf(json)),
    }
}

pub(super) fn of(json: &Node<'_>) -> Markup {
    html! { div.tree { (drawn(None, json, 0)) } }
}

fn drawn(name: Option<&str>, node: &Node<'_>, depth: usize) -> Markup {
    match node {
        Node::Object(members) if !members.is_empty() => {
            let inner = members.iter().map(|(name, node)| drawn(Some(name), node, depth + 1));
            branch(name, &format!("{{{}}}", members.len()), inner, depth)
        }
        Node::Array(items) if !items.is_empty() => {
            let inner = items.iter().enumerate().map(|(at, node)| drawn(Some(&at.to_string()), node, depth + 1));
            branch(name, &format!("[{}]", items.len()), inner, depth)
        }
        Node::Object(_) => html! { div { (named(name)) "{}" } },
        Node::Array(_) => html! { div { (named(name)) "[]" } },
        Node::Leaf(leaf) => html! { div { (named(name)) span.(kind(leaf)) { (shown(leaf)) } } },
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

/// The class of a value for the style sheet.
fn kind(leaf: &str) -> &'static str {
    match leaf.bytes().next() {
        Some(b'"') => "text",
        Some(b'-' | b'0'..=b'9') => "digits",
        _ => "word",
    }
}

/// Formats a leaf, without unnecessary escapes in strings.
fn shown(leaf: &str) -> String {
    let is_text = kind(leaf) == "text";
    let text = Some(leaf).filter(|_| is_text).and_then(|leaf| serde_json::from_str::<Value>(leaf).ok());
    text.map_or_else(|| leaf.to_owned(), |text| text.to_string())
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn tree(json: &str) -> String {
        of(&parsed(json).unwrap()).into_string()
    }

    #[test]
    fn branches_open_leaves_are_escaped_and_members_keep_their_order() {
        let tree = tree(r#"{"z": {"<b>": ["</script>", 1, -1.5, true, null]}, "a": "x"}"#);
        assert_eq!(tree.matches("<details open>").count(), 2, "{tree}");
        assert_eq!(tree.matches("<details>").count(), 1, "{tree}");
        assert!(tree.contains("&lt;b&gt;") && tree.contains("&lt;/script&gt;"), "{tree}");
        assert!(tree.find(">z<") < tree.find(">a<"), "{tree}");
    }

    #[test]
    fn numbers_keep_their_digits_and_texts_are_unescaped() {
        let tree = tree(r#"{"n": 12345678901234567890123, "f": 1.10, "name": "M\u00fcller\u0000"}"#);
        for shown in [">12345678901234567890123<", ">1.10<", ">&quot;Müller\\u0000&quot;<"] {
            assert!(tree.contains(shown), "{shown}: {tree}");
        }
    }

    #[test]
    fn what_is_no_whole_object_or_array_has_no_tree() {
        let nested = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for json in ["1", "\"a\"", "{\"a\":", "[1]]", &nested(DEEPEST + 1), &nested(50_000)] {
            assert!(parsed(json).is_none(), "{json}");
        }
        assert!(parsed(&nested(DEEPEST)).is_some());
    }

    #[test]
    fn a_long_branch_is_cut() {
        let tree = tree(&format!("[{}0]", "0,".repeat(MOST_SHOWN + 2)));
        assert!(tree.contains("and 3 more"), "{tree}");
    }
}
