//! How many jobs a replica asks for. A take whose answer didn't come in time may have been too much to hand out in that
//! time, and would be again: so the next one asks for less.

use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug)]
pub(crate) struct TakeSize(AtomicUsize);

impl Default for TakeSize {
    fn default() -> Self {
        Self(AtomicUsize::new(usize::MAX))
    }
}

impl TakeSize {
    /// What to ask for, of the `wanted`: at least one.
    pub(crate) fn of(&self, wanted: usize) -> usize {
        wanted.min(self.0.load(Ordering::Relaxed))
    }

    /// No answer came to a take of this many.
    pub(crate) fn unanswered(&self, asked: usize) {
        self.0.store((asked / 2).max(1), Ordering::Relaxed);
    }

    /// An answer came.
    pub(crate) fn answered(&self) {
        let bound = self.0.load(Ordering::Relaxed);
        self.0.store(bound.saturating_mul(2), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_take_without_an_answer_is_followed_by_a_smaller_one_until_one_is_answered() {
        let take_size = TakeSize::default();
        assert_eq!(take_size.of(500), 500);
        take_size.answered();
        let mut asked = Vec::new();
        for _ in 0..10 {
            let of = take_size.of(50);
            asked.push(of);
            take_size.unanswered(of);
        }
        assert_eq!(asked, [50, 25, 12, 6, 3, 1, 1, 1, 1, 1]);
        for doubled in [2, 4, 8, 16, 32, 50, 50] {
            take_size.answered();
            assert_eq!(take_size.of(50), doubled);
        }
    }
}
