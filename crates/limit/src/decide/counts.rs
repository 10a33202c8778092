//! How many decisions came out how.

use std::ops::AddAssign;

/// Counts since the limiter began, or of a minute.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerdictCounts {
    pub allowed: u64,
    pub refused: u64,
    /// What a shadow would have refused.
    pub shadow_refused: u64,
    /// What passed because Redis couldn't be asked and the policy is `open`.
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
