//! The result for one scope, without its policy.

use crate::decide::wait::Wait;

/// The remaining quota of a tier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Remaining {
    /// Calls of cost 1 that would be allowed now.
    pub(crate) calls: u64,
    /// µs until all is available again.
    pub(crate) resets: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct ScopeVerdict {
    pub(crate) passed: bool,
    /// The charged cost, including calls that were leased in advance.
    pub(crate) taken: u64,
    /// For each tier the wait until it would allow the request, and the remaining quota after the charge.
    pub(crate) tiers: Vec<(Wait, Remaining)>,
}

impl ScopeVerdict {
    /// The longest wait of all tiers.
    pub(crate) fn wait(&self) -> Wait {
        self.tiers.iter().map(|(wait, _)| *wait).max().unwrap_or(Wait::Ready)
    }
}
