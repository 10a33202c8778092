//! Reads a window of the history.

use std::collections::BTreeMap;

use dripfeed_store::Script;

use crate::bucket::Bucket;
use crate::error::BucketError;
use crate::history::slot::{HistorySlot, OpenSlot, read_closed};
use crate::history::window::HistoryWindow;
use crate::script::reply::Reply;
use crate::script::scripts::SHARED;

static SCRIPT: Script = Script::new("list_history", SHARED, include_str!("list_history.lua"));

/// Time series of a bucket over a window that ends now.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    pub window: HistoryWindow,
    /// The beginning of the first slot, and now; in ms since the epoch by the Redis clock.
    pub from_ms: u64,
    pub to_ms: u64,
    /// The last slot before the window, with the level and rates at `from_ms`. `None` if they are unknown.
    pub before: Option<HistorySlot>,
    /// In order of time; the last one may be incomplete. Slots without events are omitted: the level is that of the
    /// previous slot.
    pub slots: Vec<HistorySlot>,
}

impl Bucket {
    /// Returns the samples of the window ([`Bucket::sample_history`]).
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn history(&self, window: HistoryWindow) -> Result<History, BucketError> {
        // The open slots of finer windows aren't added to this window yet.
        let finer = HistoryWindow::ALL.into_iter().filter(|other| other.slot_s() <= window.slot_s());
        let open: Vec<HistoryWindow> = finer.rev().collect();
        let mut call = SCRIPT.on(&[self.redis_bucket.keys.history()]);
        for window in &open {
            call.arg(window.as_str());
        }
        for place in 0..window.slots() {
            call.arg(format!("{}:{place}", window.as_str()));
        }
        let mut reply = Reply::new("list_history", self.redis_bucket.store.run(&call).await?)?;
        let to_ms = reply.count()?;
        let mut opened = Vec::with_capacity(open.len());
        for window in open {
            opened.extend(OpenSlot::read(&reply.text()?).map(|slot| (window, slot)));
        }
        let mut slots = BTreeMap::new();
        while !reply.is_empty() {
            slots.extend(read_closed(&reply.text()?, window));
        }
        slots.extend(still_open(window, opened));
        Ok(within(window, to_ms, slots))
    }
}

/// Makes slots of `window` from its open slot, and from the open slots of finer windows, which are later.
fn still_open(
    window: HistoryWindow,
    opened: Vec<(HistoryWindow, OpenSlot)>,
) -> impl Iterator<Item = (u64, HistorySlot)> {
    let mut slots: BTreeMap<u64, OpenSlot> = BTreeMap::new();
    for (of, slot) in opened {
        let number = slot.number_in(of, window);
        match slots.get_mut(&number) {
            Some(earlier) => earlier.add(&slot),
            None => drop(slots.insert(number, slot)),
        }
    }
    slots.into_iter().map(move |(number, slot)| (number, slot.shown(number, window)))
}

/// Returns the slots in the window. The ring also has older slots, and slots written while the clock was ahead.
fn within(window: HistoryWindow, to_ms: u64, slots: BTreeMap<u64, HistorySlot>) -> History {
    let slot_ms = window.slot_s() * 1000;
    let last = to_ms / slot_ms;
    let first = (last + 1).saturating_sub(window.slots());
    let before = slots.range(..first).next_back().map(|(_, slot)| slot.clone());
    let slots = slots.into_iter().filter(|(number, _)| (first..=last).contains(number));
    let slots: Vec<_> = slots.map(|(_, slot)| slot).collect();
    let before = before.filter(|before| slots.first().is_none_or(|slot| follows(before, slot)));
    History { window, from_ms: first * slot_ms, to_ms, before, slots }
}

/// Whether nothing happened between two slots. A slot between them may have been overwritten by one of the window.
fn follows(before: &HistorySlot, slot: &HistorySlot) -> bool {
    let level = |slot: &HistorySlot| slot.waiting + slot.in_flight + slot.parked;
    let ended = slot.delivered + slot.dead + slot.expired + slot.cancelled;
    level(before) + slot.accepted == level(slot) + ended
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    fn slot(number: u64, accepted: u64) -> OpenSlot {
        OpenSlot::read(&format!("{number} {accepted} 0 0 0 0 0 0 0 0 0 0 0 0 {accepted} 0 0 9 0 0|||")).unwrap()
    }

    #[test]
    fn what_is_open_in_finer_windows_is_part_of_a_slot() {
        let opened = vec![
            (HistoryWindow::Day, slot(7, 1)),
            (HistoryWindow::Hour, slot(7 * 15 + 14, 2)),
            (HistoryWindow::FiveMinutes, slot(8 * 180, 4)),
        ];
        let shown: Vec<_> = still_open(HistoryWindow::Day, opened).collect();
        let counts: Vec<_> = shown.iter().map(|(number, slot)| (*number, slot.accepted, slot.waiting)).collect();
        assert_eq!(counts, [(7, 3, 2), (8, 4, 4)]);
    }

    #[test]
    fn the_state_at_the_beginning_of_a_window_is_that_of_the_slot_before_it() {
        let of = |slots: &[(u64, OpenSlot)]| {
            let shown = |(number, slot): &(u64, OpenSlot)| (*number, slot.shown(*number, HistoryWindow::FiveMinutes));
            let history = within(HistoryWindow::FiveMinutes, 500_000, slots.iter().map(shown).collect());
            history.before.map(|slot| slot.waiting)
        };
        let begun = OpenSlot::read("1 9 0 0 0 0 0 0 0 0 0 0 0 0 9 0 0 9 0 0|||").unwrap();
        let later = OpenSlot::read("60 2 0 1 0 0 0 0 0 0 0 0 0 0 10 0 0 9 0 0|||").unwrap();
        assert_eq!(of(&[(1, begun.clone())]), Some(9));
        assert_eq!(of(&[(1, begun.clone()), (60, later.clone())]), Some(9));
        assert_eq!(of(&[(60, later)]), None);
        // A slot between them was overwritten.
        let between = OpenSlot::read("60 2 0 5 0 0 0 0 0 0 0 0 0 0 10 0 0 9 0 0|||").unwrap();
        assert_eq!(of(&[(1, begun), (60, between)]), None);
    }

    #[test]
    fn slots_before_the_window_and_ahead_of_the_clock_are_left_out() {
        let numbers = [39, 40, 99, 100];
        let slots = numbers.map(|number| (number, slot(number, 1).shown(number, HistoryWindow::Hour)));
        let history = within(HistoryWindow::Hour, 99 * 60_000 + 59_999, slots.into());
        let seen: Vec<u64> = history.slots.iter().map(|slot| slot.at_ms / 60_000).collect();
        assert_eq!((history.from_ms, seen), (40 * 60_000, vec![40, 99]));
        assert_eq!(within(HistoryWindow::Hour, 5, BTreeMap::new()).from_ms, 0);
    }
}
