//! Numbers of calls by class of answer.

use crate::history::call_stats::AnswerClass;

/// Numbers of calls by class of answer, in the order of [`AnswerClass::ALL`].
type Answers = [u64; AnswerClass::ALL.len()];

/// The calls of the last one to two minutes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecentCalls {
    all: Answers,
    /// Those of the current minute.
    this_minute: Answers,
}

impl RecentCalls {
    #[must_use]
    pub const fn new(all: Answers, this_minute: Answers) -> Self {
        Self { all, this_minute }
    }

    pub(crate) fn add(&mut self, answers: Answers, is_of_this_minute: bool) {
        self.all = sum(self.all, answers);
        if is_of_this_minute {
            self.this_minute = sum(self.this_minute, answers);
        }
    }

    /// Without those of the last whole minute.
    #[must_use]
    pub const fn of_this_minute(self) -> Self {
        Self { all: self.this_minute, ..self }
    }

    /// Returns the classes with calls, and the number of calls of each.
    pub fn by_class(self) -> impl Iterator<Item = (AnswerClass, u64)> {
        AnswerClass::ALL.into_iter().zip(self.all).filter(|(_, count)| *count > 0)
    }

    #[must_use]
    pub fn all(self) -> u64 {
        self.all.iter().sum()
    }

    /// Returns the number of calls that delivered nothing, without those that the upstream throttled.
    #[must_use]
    pub fn failed(self) -> u64 {
        let is_failed = |class| !matches!(class, AnswerClass::Success | AnswerClass::TooManyRequests);
        self.by_class().filter(|(class, _)| is_failed(*class)).map(|(_, count)| count).sum()
    }
}

fn sum(some: Answers, more: Answers) -> Answers {
    std::array::from_fn(|class| some[class].saturating_add(more[class]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_upstream_throttled_has_not_failed() {
        let calls = RecentCalls::new([1, 2, 3, 4, 5, 6], [0; 6]);
        assert_eq!((calls.all(), calls.failed()), (21, 16));
        let classes: Vec<_> = RecentCalls::new([0, 0, 3, 0, 0, 1], [0; 6]).by_class().collect();
        assert_eq!(classes, [(AnswerClass::ClientError, 3), (AnswerClass::None, 1)]);
    }
}
