//! JSON as a tree with branches that open and close, without JavaScript.

use std::fmt;

use maud::{Markup, html};
use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

/// Branches below are closed.
const OPEN: usize = 2;
/// Of a branch: more is in the text.
const MOST_SHOWN: usize = 200;

/// In the order of the text, which a map of values hasn't.
pub(super) enum Node {
    Object(Vec<(String, Node)>),
    Array(Vec<Node>),
    Leaf(Value),
}

pub(super) fn of(json: &Node) -> Markup {
    html! { div.tree { (drawn(None, json, 0)) } }
}

fn drawn(name: Option<&str>, node: &Node, depth: usize) -> Markup {
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
        Node::Leaf(leaf) => html! { div { (named(name)) span.(kind(leaf)) { (leaf) } } },
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

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Nodes)
    }
}

struct Nodes;

impl<'de> Visitor<'de> for Nodes {
    type Value = Node;

    fn expecting(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut from: A) -> Result<Node, A::Error> {
        let mut members = Vec::new();
        while let Some(member) = from.next_entry()? {
            members.push(member);
        }
        Ok(Node::Object(members))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut from: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = from.next_element()? {
            items.push(item);
        }
        Ok(Node::Array(items))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Node, E> {
        Ok(Node::Leaf(text.into()))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Leaf(value.into()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Node, E> {
        Ok(Node::Leaf(number.into()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Node, E> {
        Ok(Node::Leaf(number.into()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Node, E> {
        Ok(Node::Leaf(number.into()))
    }

    fn visit_unit<E: Error>(self) -> Result<Node, E> {
        Ok(Node::Leaf(Value::Null))
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn tree(json: &str) -> String {
        of(&serde_json::from_str(json).unwrap()).into_string()
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
    fn a_long_branch_is_cut() {
        let tree = tree(&format!("[{}0]", "0,".repeat(MOST_SHOWN + 2)));
        assert!(tree.contains("and 3 more"), "{tree}");
    }
}
