//! The place of a list that is empty, with a picture.

use maud::{Markup, html};

/// `content` says why it is empty, or what fills it.
pub(crate) fn state(content: &Markup) -> Markup {
    html! {
        section.state {
            svg.picture data-picture="empty" viewBox="0 0 48 48" width="64" height="64" aria-hidden="true" {
                path d="M8 12h32l-4 28H12z" {}
            }
            (content)
        }
    }
}
