//! Numbers of decisions by verdict.

use std::ops::AddAssign;

/// Numbers of decisions by verdict, since the limiter was created, or of a minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerdictCounts {
    pub allowed: u64,
    pub refused: u64,
    /// Requests that a policy in shadow mode would have refused.
    pub shadow_refused: u64,
    /// Requests allowed because Redis was unavailable and the policy is `open`.
    pub unchecked: u64,
}

impl AddAssign for VerdictCounts {
    fn add_assign(&mut self, other: Self) {
        self.allowed += other.allowed;
        self.refused += other.refused;
        self.shadow_refused += other.shadow_refused;
        self.unchecked += other.unchecked;
    }
}
