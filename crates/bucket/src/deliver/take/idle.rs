//! When the next take is worthwhile, as one answers.

use std::time::Instant;

#[derive(Clone, Debug)]
pub struct Idle {
    pub(crate) wanting: Wanting,
    pub(crate) until: Instant,
}

/// What keeps a replica from taking more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanting {
    /// Nothing but a new job: when one comes, the next take is worthwhile at once.
    Job,
    /// A token of the pace.
    Token,
    /// Only time will tell.
    Time,
}

impl Wanting {
    /// As take.lua writes it.
    pub(crate) fn read(word: &[u8]) -> Self {
        match word {
            b"job" => Self::Job,
            b"token" => Self::Token,
            _ => Self::Time,
        }
    }
}
