//! The result for one scope, without its policy.

use crate::decide::wait::Wait;

/// What is left of a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Remaining {
    /// Calls of cost 1 that would pass now.
    pub(crate) calls: u64,
    /// µs until all is left again.
    pub(crate) resets: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct ScopeVerdict {
    pub(crate) passed: bool,
    /// How many were charged, those taken ahead included.
    pub(crate) taken: u64,
    /// Each tier: until it would let the request pass, and what is left after the charge.
    pub(crate) tiers: Vec<(Wait, Remaining)>,
}

impl ScopeVerdict {
    /// The longest over the tiers.
    pub(crate) fn wait(&self) -> Wait {
        self.tiers.iter().map(|(wait, _)| *wait).max().unwrap_or(Wait::Ready)
    }
}
