//! Progress of a push on standard error: a progress bar on a terminal, otherwise only the summary.

use std::cell::Cell;
use std::time::{Duration, Instant};

use dripfeed_client::{ClientError, Problem};
use dripfeed_job::{counted, duration};
use indicatif::{ProgressBar, ProgressStyle};

use crate::output;

/// Where there is no bar, waits are said again after that.
const BETWEEN_LINES: Duration = Duration::from_secs(60);

pub(super) struct Progress {
    bar: ProgressBar,
    begun: Instant,
    accepted: Cell<u64>,
    failed: Cell<u64>,
    waits: Cell<u64>,
    is_sent: Cell<bool>,
    /// When the longest wait that was said is over.
    said_until: Cell<Option<Instant>>,
}

impl Progress {
    /// `total` lines, when they can be known before.
    pub(super) fn of(total: Option<u64>) -> Self {
        // Draws on standard error, and nothing where that is no terminal.
        let bar = total.map_or_else(ProgressBar::new_spinner, ProgressBar::new);
        let template = match total {
            Some(_) => "{bar:32} {pos}/{len} {per_sec} {msg}",
            None => "{spinner} {pos} {per_sec} {msg}",
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let (accepted, failed, waits) = (Cell::default(), Cell::default(), Cell::default());
        let (is_sent, said_until) = (Cell::default(), Cell::default());
        Self { bar, begun: Instant::now(), accepted, failed, waits, is_sent, said_until }
    }

    /// Says something without tearing the bar.
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

    /// Waits are said about once a minute, and one that is much longer than what was said is said at once.
    fn is_news(&self, wait: Duration) -> bool {
        let Some(end) = Instant::now().checked_add(wait) else { return true };
        let is_news = self.said_until.get().is_none_or(|said| end.saturating_duration_since(said) > BETWEEN_LINES);
        if is_news {
            self.said_until.set(Some(end));
        }
        is_news
    }

    /// A batch reached a server.
    pub(super) fn sent(&self) {
        self.is_sent.set(true);
    }

    /// Whether there is something to resume. Only a server that has answered is waited for.
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
            waits => format!("; waited {}", counted(waits, "time")),
        };
        let (accepted, failed) = (counted(accepted, "job"), counted(failed, "line"));
        format!("{accepted} accepted, {failed} failed, in {seconds:.1} s{waits}")
    }
}

/// Why a batch waits. A full bucket is refused item by item.
pub(super) fn reason(error: &ClientError) -> String {
    match error.problem() {
        Some(problem) if problem.code == "bucket_full" => "the bucket is full".to_owned(),
        // How long follows.
        Some(problem) => Problem { retry_after: None, ..problem.clone() }.to_string(),
        None => error.to_string(),
    }
}
