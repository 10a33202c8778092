//! The pictures of pages and places without content.

use maud::{Markup, html};

/// What is shown in place of the content.
#[derive(Clone, Copy)]
pub(crate) enum Picture {
    /// A bucket.
    Empty,
    /// A lock.
    Forbidden,
    /// A bucket with a cross.
    Missing,
    /// A bucket with a crack.
    Broken,
}

impl Picture {
    /// Its name, its width, and its path in a square of 48.
    const fn drawn(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::Empty => ("empty", "64", "M8 12h32l-4 28H12z"),
            Self::Forbidden => ("forbidden", "96", "M14 22v-5a10 10 0 0 1 20 0v5M10 22h28v18H10zM24 29v5"),
            Self::Missing => ("missing", "96", "M8 12h32l-4 28H12zM18 20l12 12M30 20L18 32"),
            Self::Broken => ("broken", "96", "M8 12h32l-4 28H12zM24 12l-4 9 7 5-5 14"),
        }
    }

    pub(crate) fn draw(self) -> Markup {
        let (name, width, path) = self.drawn();
        html! {
            svg.picture data-picture=(name) viewBox="0 0 48 48" width=(width) height=(width) aria-hidden="true" {
                path d=(path) {}
            }
        }
    }
}
