//! Forms that change something, with the visitor's form token.

use maud::{Markup, html};

use crate::web::identity::Visitor;

/// The name of the field with the token.
pub(crate) const TOKEN: &str = "form_token";

/// The hidden field with the token.
pub(crate) fn token(visitor: &Visitor) -> Markup {
    html! { input type="hidden" name=(TOKEN) value=(visitor.form_token); }
}

/// A form with one button. A form with `data-here` shows a refusal in the form.
pub(crate) fn button(visitor: &Visitor, path: &str, label: &str) -> Markup {
    html! {
        form.inline method="post" action=(path) data-here {
            (token(visitor))
            button type="submit" { (label) }
        }
    }
}

/// A button with a keyboard shortcut.
pub(crate) fn keyed(visitor: &Visitor, path: &str, label: &str, key: &str) -> Markup {
    html! {
        form.inline method="post" action=(path) data-stay {
            (token(visitor))
            button type="submit" data-key=(key) title={ "key " (key) } { (label) }
        }
    }
}

/// A button that looks like a link.
pub(crate) fn quiet(visitor: &Visitor, path: &str, label: &str) -> Markup {
    html! {
        form.inline method="post" action=(path) {
            (token(visitor))
            button.link type="submit" { (label) }
        }
    }
}

/// A form for an action that can't be undone: the visitor must type a word.
pub(crate) fn confirmed(visitor: &Visitor, path: &str, label: &str, what: &str, word: &str) -> Markup {
    confirmed_with(visitor, path, label, word, &html! { p { (what) } })
}

/// As [`confirmed`], with markup in place of a text.
pub(crate) fn confirmed_with(visitor: &Visitor, path: &str, label: &str, word: &str, fields: &Markup) -> Markup {
    html! {
        details.confirm {
            summary.button.danger { (label) }
            form.panel method="post" action=(path) data-here {
                (token(visitor))
                (fields)
                label {
                    span { "Type " strong { (word) } " to confirm" }
                    input name="confirm" required autocomplete="off" spellcheck="false" pattern=(word);
                }
                button.danger type="submit" { (label.trim_end_matches('…')) }
            }
        }
    }
}
