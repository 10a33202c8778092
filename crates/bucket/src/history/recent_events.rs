//! Counts what happened in a bucket in the last one to two minutes.

use std::time::Duration;

use crate::history::recent_calls::RecentCalls;
use crate::history::slot::events_of;
use crate::history::window::HistoryWindow;

/// The windows of the slots that a census reads: the open slot of the finest window, and the open and the last closed
/// slot of the next one.
const WINDOWS: [HistoryWindow; 3] = [HistoryWindow::FiveMinutes, HistoryWindow::Hour, HistoryWindow::Hour];
/// Maximum age of a slot, in slots of the coarser window.
const SLOTS: u64 = 2;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecentEvents {
    pub(crate) calls: RecentCalls,
    /// New dead letters.
    pub(crate) dead: u64,
}

impl RecentEvents {
    /// The windows that a census reads, as an argument of its script.
    pub(crate) fn windows() -> String {
        HistoryWindow::packed_of(&WINDOWS[..2])
    }

    /// Sums up `slots`, texts of their numbers without sketches. Skips slots that aren't recent.
    pub(crate) fn of_slots(slots: &[String; 3], now: Duration) -> Self {
        let minute_s = HistoryWindow::Hour.slot_s();
        let minute_begun_s = now.as_secs() / minute_s * minute_s;
        let mut all = Self::default();
        for (text, window) in slots.iter().zip(WINDOWS) {
            let events = events_of(text).filter(|(number, ..)| is_recent(*number, window, now));
            if let Some((number, dead, answers)) = events {
                all.calls.add(answers, number.saturating_mul(window.slot_s()) >= minute_begun_s);
                all.dead = all.dead.saturating_add(dead);
            }
        }
        all
    }
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

    fn slot(number: u64, delivered: u64, dead: u64) -> String {
        format!("{number} 0 0 0 {dead} 0 0 0 {delivered} 0 0 0 0 {dead} 0 0 0 0 0 0")
    }

    #[test]
    fn the_events_of_the_last_slots_are_counted_and_no_earlier_ones() {
        let events = |slots: [String; 3]| RecentEvents::of_slots(&slots, NOW);
        let all = events([slot(241, 1, 2), slot(20, 10, 20), slot(19, 100, 200)]);
        assert_eq!((all.calls.all(), all.calls.failed(), all.dead), (333, 222, 222));
        let latest = all.calls.of_this_minute();
        assert_eq!((latest.all(), latest.failed()), (33, 22));
        // Slots that are too old aren't counted, nor those that begin after now, because the clock was set back.
        let some = events([slot(215, 1, 2), slot(19, 10, 20), slot(18, 100, 200)]);
        assert_eq!((some.calls.all(), some.calls.failed(), some.dead), (30, 20, 20));
        assert_eq!(some.calls.of_this_minute().all(), 0);
        assert_eq!(events([slot(242, 1, 2), slot(21, 1, 1), String::new()]), RecentEvents::default());
        assert_eq!(events(["x".to_owned(), "1 2".to_owned(), String::new()]), RecentEvents::default());
    }
}
