//! Numbers of calls by class of answer.

use crate::history::call_stats::AnswerClass;

/// Numbers of calls by class of answer, in the order of [`AnswerClass::ALL`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecentCalls([u64; AnswerClass::ALL.len()]);

impl RecentCalls {
    #[must_use]
    pub const fn new(answers: [u64; AnswerClass::ALL.len()]) -> Self {
        Self(answers)
    }

    /// Returns the classes with calls, and the number of calls of each.
    pub fn by_class(self) -> impl Iterator<Item = (AnswerClass, u64)> {
        AnswerClass::ALL.into_iter().zip(self.0).filter(|(_, count)| *count > 0)
    }

    #[must_use]
    pub fn all(self) -> u64 {
        self.0.iter().sum()
    }

    pub(crate) fn add(&mut self, more: Self) {
        self.0.iter_mut().zip(more.0).for_each(|(count, more)| *count = count.saturating_add(more));
    }

    /// Returns the number of calls that delivered nothing, without those that the upstream throttled.
    #[must_use]
    pub fn failed(self) -> u64 {
        let is_failed = |class| !matches!(class, AnswerClass::Success | AnswerClass::TooManyRequests);
        self.by_class().filter(|(class, _)| is_failed(*class)).map(|(_, count)| count).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_upstream_throttled_has_not_failed() {
        let calls = RecentCalls::new([1, 2, 3, 4, 5, 6]);
        assert_eq!((calls.all(), calls.failed()), (21, 16));
        let classes: Vec<_> = RecentCalls::new([0, 0, 3, 0, 0, 1]).by_class().collect();
        assert_eq!(classes, [(AnswerClass::ClientError, 3), (AnswerClass::None, 1)]);
    }
}
