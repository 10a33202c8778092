//! Progress of a push on standard error: a progress bar on a terminal, otherwise only the summary.

use std::cell::Cell;
use std::time::{Duration, Instant};

use dripfeed_client::{ClientError, Problem};
use dripfeed_job::{duration, pluralize};
use indicatif::ProgressBar;

use crate::output::{self, progress_bar};

/// Without a progress bar, waits are printed once in this time.
const PRINT_INTERVAL: Duration = Duration::from_secs(60);

pub(super) struct Progress {
    bar: ProgressBar,
    begun: Instant,
    accepted: Cell<u64>,
    failed: Cell<u64>,
    waits: Cell<u64>,
    is_sent: Cell<bool>,
    /// The end of the longest wait that was printed.
    printed_until: Cell<Option<Instant>>,
}

impl Progress {
    /// `total`: the number of lines, if known.
    pub(super) fn of(total: Option<u64>) -> Self {
        let bar = progress_bar::counting(total);
        let (accepted, failed, waits) = (Cell::default(), Cell::default(), Cell::default());
        let (is_sent, printed_until) = (Cell::default(), Cell::default());
        Self { bar, begun: Instant::now(), accepted, failed, waits, is_sent, printed_until }
    }

    /// Prints results without disturbing the bar, which may be on the same terminal.
    pub(super) fn without_bar<T>(&self, print: impl FnOnce() -> T) -> T {
        self.bar.suspend(print)
    }

    /// Prints a line without disturbing the bar.
    pub(super) fn say(&self, text: &str) {
        self.bar.suspend(|| output::say(text));
    }

    pub(super) fn accepted(&self) {
        self.accepted.set(self.accepted.get() + 1);
        self.bar.inc(1);
        self.bar.set_message("");
    }

    pub(super) fn failed(&self, line: u64, why: &str) {
        self.failed.set(self.failed.get() + 1);
        self.bar.inc(1);
        self.say(&format!("line {line}: {why}"));
    }

    pub(super) fn waits(&self, wait: Duration, why: &str) {
        self.waits.set(self.waits.get() + 1);
        let shown = duration::show(wait);
        if self.bar.is_hidden() && self.is_news(wait) {
            output::say(format_args!("{why}; retrying in {shown}"));
        }
        self.bar.set_message(format!("{why}; waiting {shown}"));
    }

    /// Whether to print a wait: about once a minute, and at once if it is much longer than the printed one.
    fn is_news(&self, wait: Duration) -> bool {
        let Some(end) = Instant::now().checked_add(wait) else { return true };
        let last = self.printed_until.get();
        let is_news = last.is_none_or(|last| end.saturating_duration_since(last) > PRINT_INTERVAL);
        if is_news {
            self.printed_until.set(Some(end));
        }
        is_news
    }

    /// Notes that a batch has reached a server.
    pub(super) fn sent(&self) {
        self.is_sent.set(true);
    }

    /// Returns whether a server has been reached, so that there is something to resume. Waits show that, too.
    pub(super) fn has_sent(&self) -> bool {
        self.is_sent.get() || self.waits.get() > 0
    }

    pub(super) fn failures(&self) -> u64 {
        self.failed.get()
    }

    pub(super) fn summary(&self) -> String {
        self.bar.finish_and_clear();
        let (accepted, failed) = (self.accepted.get(), self.failed.get());
        let seconds = self.begun.elapsed().as_secs_f64();
        let waits = match self.waits.get() {
            0 => String::new(),
            waits => format!("; waited {}", pluralize(waits, "time")),
        };
        let (accepted, failed) = (pluralize(accepted, "job"), pluralize(failed, "line"));
        format!("{accepted} accepted, {failed} failed, in {seconds:.1} s{waits}")
    }
}

/// Returns why a batch waits.
pub(super) fn reason(error: &ClientError) -> String {
    match error.problem() {
        Some(problem) if problem.code == "bucket_full" => "the bucket is full".to_owned(),
        // Without the time, which is printed after the reason.
        Some(problem) => Problem { retry_after: None, ..problem.clone() }.to_string(),
        None => error.to_string(),
    }
}
