//! Colours, unless NO_COLOR is set. They never carry information alone.

use ratatui_core::style::{Color, Modifier, Style};

#[derive(Clone, Copy, Debug)]
pub(in crate::top) struct Theme {
    coloured: bool,
}

impl Theme {
    /// Colours are off if NO_COLOR isn't empty, as in <https://no-color.org>.
    pub(in crate::top) fn of_terminal() -> Self {
        Self { coloured: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) }
    }

    pub(in crate::top) const fn plain() -> Self {
        Self { coloured: false }
    }

    #[cfg(test)]
    pub(in crate::top) const fn coloured() -> Self {
        Self { coloured: true }
    }

    fn colour(self, colour: Color) -> Style {
        if self.coloured { Style::new().fg(colour) } else { Style::new() }
    }

    /// Returns the style of a mood: `good`, `look` or `bad`.
    pub(super) fn mood(self, mood: &str) -> Style {
        match mood {
            "bad" => self.colour(Color::Red).add_modifier(Modifier::BOLD),
            "look" => self.colour(Color::Yellow),
            "good" => self.colour(Color::Green),
            _ => Style::new(),
        }
    }

    pub(super) fn in_flight(self) -> Style {
        self.colour(Color::Cyan)
    }

    pub(super) fn waiting(self) -> Style {
        self.colour(Color::Blue)
    }

    pub(super) fn parked(self) -> Style {
        self.colour(Color::Magenta)
    }

    pub(super) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub(super) fn faint(self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    pub(super) fn selected(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }
}
