//! Counts the calls of a bucket in the last one to two minutes, by class of answer.

use std::time::Duration;

use crate::history::call_stats::AnswerClass;
use crate::history::slot::answers_of;
use crate::history::window::HistoryWindow;

/// The windows of the slots that a census reads: the open slot of the finest window, and the open and the last closed
/// slot of the next one.
const WINDOWS: [HistoryWindow; 3] = [HistoryWindow::FiveMinutes, HistoryWindow::Hour, HistoryWindow::Hour];
/// Maximum age of a slot, in slots of the coarser window.
const SLOTS: u64 = 2;

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

    /// Without those of the last whole minute.
    #[must_use]
    pub const fn of_this_minute(self) -> Self {
        Self { all: self.this_minute, ..self }
    }

    /// The windows that a census reads, as an argument of its script.
    pub(crate) fn windows() -> String {
        HistoryWindow::packed_of(&WINDOWS[..2])
    }

    /// Sums up the calls of `slots`, texts of their numbers without sketches. Skips slots that aren't recent.
    pub(crate) fn of_slots(slots: &[String; 3], now: Duration) -> Self {
        let minute_s = HistoryWindow::Hour.slot_s();
        let minute_begun_s = now.as_secs() / minute_s * minute_s;
        let mut calls = Self::default();
        for (text, window) in slots.iter().zip(WINDOWS) {
            let recent = answers_of(text).filter(|(number, _)| is_recent(*number, window, now));
            let Some((number, answers)) = recent else { continue };
            calls.all = sum(calls.all, answers);
            if number.saturating_mul(window.slot_s()) >= minute_begun_s {
                calls.this_minute = sum(calls.this_minute, answers);
            }
        }
        calls
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

fn is_recent(number: u64, window: HistoryWindow, now: Duration) -> bool {
    let begun_s = number.saturating_mul(window.slot_s());
    begun_s <= now.as_secs() && now.as_secs() - begun_s < SLOTS * HistoryWindow::Hour.slot_s()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In the 21st minute.
    const NOW: Duration = Duration::from_secs(20 * 60 + 7);

    fn slot(number: u64, delivered: u64, unanswered: u64) -> String {
        format!("{number} 0 0 0 0 0 0 0 {delivered} 0 0 0 0 {unanswered} 0 0 0 0 0 0")
    }

    #[test]
    fn the_calls_of_the_last_slots_are_counted_and_no_earlier_ones() {
        let calls = |slots: [String; 3]| RecentCalls::of_slots(&slots, NOW);
        let all = calls([slot(241, 1, 2), slot(20, 10, 20), slot(19, 100, 200)]);
        assert_eq!((all.all(), all.failed()), (333, 222));
        let latest = all.of_this_minute();
        assert_eq!((latest.all(), latest.failed()), (33, 22));
        // Slots that are too old aren't counted, nor those that begin after now, because the clock was set back.
        let some = calls([slot(215, 1, 2), slot(19, 10, 20), slot(18, 100, 200)]);
        assert_eq!((some.all(), some.failed(), some.of_this_minute().all()), (30, 20, 0));
        assert_eq!(calls([slot(242, 1, 2), slot(21, 1, 1), String::new()]), RecentCalls::default());
        assert_eq!(calls(["x".to_owned(), "1 2".to_owned(), String::new()]), RecentCalls::default());
    }

    #[test]
    fn what_the_upstream_throttled_has_not_failed() {
        let calls = RecentCalls::new([1, 2, 3, 4, 5, 6], [0; 6]);
        assert_eq!((calls.all(), calls.failed()), (21, 16));
        let classes: Vec<_> = RecentCalls::new([0, 0, 3, 0, 0, 1], [0; 6]).by_class().collect();
        assert_eq!(classes, [(AnswerClass::ClientError, 3), (AnswerClass::None, 1)]);
    }
}
