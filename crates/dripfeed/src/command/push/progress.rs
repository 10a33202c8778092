//! Progress of a push on standard error: a progress bar on a terminal, otherwise only the summary.

use std::cell::Cell;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

use crate::output;

pub(super) struct Progress {
    bar: ProgressBar,
    begun: Instant,
    accepted: Cell<u64>,
    failed: Cell<u64>,
    waits: Cell<u64>,
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
        Self { bar, begun: Instant::now(), accepted: Cell::default(), failed: Cell::default(), waits: Cell::default() }
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
        if self.bar.is_hidden() && self.waits.get() == 1 {
            output::say(format_args!("{why}; retrying"));
        }
        self.bar.set_message(format!("{why}; waiting {}", dripfeed_job::duration::show(wait)));
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
            waits => format!("; waited {waits} times"),
        };
        format!("{accepted} jobs accepted, {failed} lines failed, in {seconds:.1} s{waits}")
    }
}
