//! The detail of a refusal by the API, for people.

use maud::{Markup, html};

/// A detail as a sentence, with text between backticks as code.
pub(crate) fn sentence(detail: &str) -> Markup {
    marked(&capitalized(detail))
}

/// Makes a detail of the API a sentence, unless it begins with the name of a member.
fn capitalized(detail: &str) -> String {
    if detail.split_whitespace().next().is_some_and(|word| word.ends_with(':')) {
        return detail.to_owned();
    }
    let mut characters = detail.chars();
    let first = characters.next().map(|first| first.to_uppercase().collect::<String>());
    first.unwrap_or_default() + characters.as_str()
}

/// Renders text between backticks as code.
pub(crate) fn marked(text: &str) -> Markup {
    // An odd one stands for itself.
    let is_paired = text.matches('`').count().is_multiple_of(2);
    html! {
        @if !is_paired { (text) }
        @else { @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        } }
    }
}
