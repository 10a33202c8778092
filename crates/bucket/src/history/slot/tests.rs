#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
use super::*;

const OPEN: &str = "12 1 2 3 4 5 6 7 8 0 0 0 0 9 10 11 12 13 2500 0|0 4|10 1 0 1|";

#[test]
fn an_open_slot_is_shown_with_what_was_added_to_it() {
    let mut slot = OpenSlot::read(OPEN).unwrap();
    slot.add(&OpenSlot::read("13 1 0 0 0 0 0 0 0 0 0 0 0 0 1 1 1 1 1000 1000||10 1|").unwrap());
    let shown = slot.shown(1, HistoryWindow::Hour);
    assert_eq!((shown.at_ms, shown.accepted, shown.cancelled, shown.retried), (60_000, 2, 6, 7));
    assert_eq!((shown.answers, shown.waiting, shown.capacity), ([8, 0, 0, 0, 0, 9], 1, 1));
    assert_eq!((shown.target_per_s, shown.effective_per_s), (Some(1.0), Some(1.0)));
    assert_eq!((shown.wait.unwrap().p99, shown.total), (1, None));
    assert_eq!(shown.attempt.unwrap(), Quantiles::of_ranges([10, 12, 12]));
    assert_eq!(slot.number_in(HistoryWindow::FiveMinutes, HistoryWindow::Hour), 1);
}

#[test]
fn a_closed_slot_is_shown_with_its_percentiles() {
    let (number, shown) =
        read_closed("3 1 2 3 4 5 6 7 8 0 0 0 0 9 10 11 12 13 0 0|1 2 3||", HistoryWindow::Day).unwrap();
    assert_eq!((number, shown.at_ms, shown.target_per_s), (3, 2_700_000, None));
    assert_eq!((shown.wait, shown.attempt), (Some(Quantiles::of_ranges([1, 2, 3])), None));
}

#[test]
fn what_somebody_else_wrote_is_no_slot() {
    for text in ["", "x", "1 2 3|||", "12 1 2 3 4 5 6 7 8 0 0 0 0 9 10 11 12 13 2500 0", &OPEN.replace("12 1", "12 -1")]
    {
        assert_eq!(OpenSlot::read(text), None, "{text}");
        assert_eq!(read_closed(text, HistoryWindow::Day), None, "{text}");
    }
}
