//! Suites of rows that are measured together, with one report.

use crate::rows::growth::GROWTH;
use crate::rows::{PEERS, ROWS, Row};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suite {
    /// Beside the floor.
    Floor,
    /// Beside other queues, too.
    Peers,
    /// Many callers, buckets and schedules.
    Growth,
}

impl Suite {
    pub(crate) const ALL: [Self; 3] = [Self::Floor, Self::Peers, Self::Growth];

    /// The argument that selects it.
    pub(crate) const fn word(self) -> Option<&'static str> {
        match self {
            Self::Floor => None,
            Self::Peers => Some("peers"),
            Self::Growth => Some("growth"),
        }
    }

    pub(crate) const fn rows(self) -> &'static [Row] {
        match self {
            Self::Floor => ROWS,
            Self::Peers => PEERS,
            Self::Growth => GROWTH,
        }
    }

    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Floor | Self::Peers => "dripfeed beside the floor",
            Self::Growth => "dripfeed with many callers, buckets and schedules",
        }
    }

    /// The prefix of the names of its report's files.
    pub(crate) fn prefix(self) -> String {
        self.word().map_or(String::new(), |word| format!("{word}-"))
    }
}
