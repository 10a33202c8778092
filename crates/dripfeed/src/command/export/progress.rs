//! The progress bar of an export, on standard error if that is a terminal.

use std::time::Instant;

use indicatif::ProgressBar;
use jiff::Timestamp;
use serde_json::Value as Json;

use crate::output::progress_bar::{self, rate};

/// The length of a bar for which the number of items isn't known.
const WHOLE: u64 = 1000;

/// How much is written: by the number of items if that is known, otherwise by the time of the last item, because lists
/// are in the order of their times.
pub(super) struct Progress {
    bar: ProgressBar,
    /// Whether the approximate number of items is known.
    counts: bool,
    /// The times of the first item, and of the end of the list.
    first: Option<Timestamp>,
    end: Timestamp,
    begun: Instant,
    written: u64,
}

impl Progress {
    /// `until`: the filter of that name, if set.
    pub(super) fn new(about: Option<u64>, until: Option<&str>) -> Self {
        let bar = about.map_or_else(|| progress_bar::of(WHOLE), |about| progress_bar::counting(Some(about)));
        let now = Timestamp::now();
        let end = until.and_then(|until| until.parse().ok()).map_or(now, |until: Timestamp| until.min(now));
        Self { bar, counts: about.is_some(), first: None, end, begun: Instant::now(), written: 0 }
    }

    pub(super) const fn written(&self) -> u64 {
        self.written
    }

    pub(super) fn wrote(&mut self, page: &[Json]) {
        self.written += page.len() as u64;
        if self.counts {
            return self.bar.set_position(self.written);
        }
        let times = || page.iter().filter_map(time);
        self.first = self.first.or_else(|| times().next());
        if let (Some(first), Some(last)) = (self.first, times().next_back()) {
            self.bar.set_position(part(first, last, self.end));
        }
        self.bar.set_message(format!("{} {}", self.written, rate(self.written, self.begun.elapsed())));
    }

    /// Writes data without disturbing the bar, which may be on the same terminal.
    pub(super) fn without_bar<T>(&self, write: impl FnOnce() -> T) -> T {
        self.bar.suspend(write)
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

/// The time by which lists are ordered: of the end of ended jobs, and of the acceptance of others.
fn time(item: &Json) -> Option<Timestamp> {
    let ended = item.pointer("/outcome/settled_at").and_then(Json::as_str);
    ended.or_else(|| item["accepted_at"].as_str())?.parse().ok()
}

/// How much of the time from `first` to `end` precedes `last`, of `WHOLE`.
fn part(first: Timestamp, last: Timestamp, end: Timestamp) -> u64 {
    let ms = |to: Timestamp| u64::try_from(to.as_millisecond() - first.as_millisecond()).unwrap_or(0);
    let (done, all) = (ms(last), ms(end).max(1));
    (done.saturating_mul(WHOLE) / all).min(WHOLE)
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use serde_json::json;

    use super::*;

    fn ended(second: u8) -> Json {
        let at = format!("2026-01-01T00:00:{second:02}Z");
        json!({"accepted_at": "2025-01-01T00:00:00Z", "outcome": {"settled_at": at}})
    }

    #[test]
    fn a_bar_shows_the_part_that_is_written() {
        let mut by_time = Progress::new(None, Some("2026-01-01T00:00:40Z"));
        for (page, position) in [(vec![], 0), (vec![ended(0), ended(10)], 250), (vec![ended(20)], 500)] {
            by_time.wrote(&page);
            assert_eq!((by_time.bar.position(), by_time.bar.length()), (position, Some(WHOLE)));
        }
        assert_eq!(by_time.written(), 3);
        let mut by_number = Progress::new(Some(4), None);
        by_number.wrote(&[json!({"outcome": null})]);
        assert_eq!((by_number.bar.position(), by_number.bar.length()), (1, Some(4)));
    }

    #[test]
    fn jobs_in_the_bucket_are_in_the_order_of_their_acceptance() {
        let waiting = json!({"accepted_at": "2026-01-01T00:00:00Z", "outcome": null});
        assert_eq!(time(&waiting), Some("2026-01-01T00:00:00Z".parse().unwrap()));
        assert_eq!(time(&ended(1)), Some("2026-01-01T00:00:01Z".parse().unwrap()));
        assert_eq!(time(&json!({})), None);
    }

    #[test]
    fn a_clock_that_is_behind_passes_no_end_of_the_bar() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        assert_eq!([part(at(5), at(5), at(5)), part(at(5), at(9), at(5)), part(at(5), at(1), at(9))], [0, WHOLE, 0]);
    }
}
