//! The windows of the history, and the length of their slots.

use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

/// The windows of the history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryWindow {
    FiveMinutes,
    Hour,
    Day,
}

#[derive(Debug, Error, PartialEq, Eq)]
#[error("use 5m, 1h or 24h")]
pub struct BadWindow;

impl HistoryWindow {
    /// The finest first. The length of a window's slots is a multiple of the length in the window before.
    pub const ALL: [Self; 3] = [Self::FiveMinutes, Self::Hour, Self::Day];

    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FiveMinutes => "5m",
            Self::Hour => "1h",
            Self::Day => "24h",
        }
    }

    /// Returns the length of its slots.
    #[must_use]
    pub const fn slot(self) -> Duration {
        Duration::from_secs(self.slot_s())
    }

    /// Returns the number of its slots.
    #[must_use]
    pub const fn slots(self) -> u64 {
        match self {
            Self::FiveMinutes | Self::Hour => 60,
            Self::Day => 96,
        }
    }

    pub(crate) const fn slot_s(self) -> u64 {
        match self {
            Self::FiveMinutes => 5,
            Self::Hour => 60,
            Self::Day => 900,
        }
    }

    /// All windows as an argument of scripts: name, seconds of a slot, and number of slots.
    pub(crate) fn packed() -> String {
        Self::packed_of(&Self::ALL)
    }

    pub(crate) fn packed_of(windows: &[Self]) -> String {
        let packed = |window: &Self| format!("{} {} {}", window.as_str(), window.slot_s(), window.slots());
        windows.iter().map(packed).collect::<Vec<_>>().join(" ")
    }
}

impl FromStr for HistoryWindow {
    type Err = BadWindow;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|window| window.as_str() == text).ok_or(BadWindow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slots_of_a_window_make_up_its_length_and_are_made_of_whole_finer_ones() {
        let lengths = HistoryWindow::ALL.map(|window| window.slot_s() * window.slots());
        assert_eq!(lengths, [5 * 60, 60 * 60, 24 * 60 * 60]);
        for pair in HistoryWindow::ALL.windows(2) {
            assert_eq!(pair[1].slot_s() % pair[0].slot_s(), 0);
        }
        assert_eq!("1h".parse(), Ok(HistoryWindow::Hour));
        assert_eq!("2h".parse::<HistoryWindow>(), Err(BadWindow));
    }
}
