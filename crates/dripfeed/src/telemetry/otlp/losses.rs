//! Logs lost spans: when it begins, once a minute while it lasts, and at the end of the process, so that all are
//! counted.

use std::error::Error;

use dripfeed_store::RecurringFailure;

/// Spans that were lost for one reason.
#[derive(Default)]
struct Loss {
    failure: RecurringFailure,
    /// The number of lost spans since the last log line.
    spans: u64,
}

impl Loss {
    /// Adds lost spans. If a log line is due, returns the number to log.
    fn add(&mut self, spans: u64) -> Option<u64> {
        self.spans += spans;
        self.failure.occurred().map(|_| std::mem::take(&mut self.spans))
    }
}

#[derive(Default)]
pub(super) struct Losses {
    refused: Loss,
    dropped: Loss,
}

impl Losses {
    /// Counts spans that the receiver didn't accept.
    pub(super) fn not_exported(&mut self, spans: usize, error: &(dyn Error + 'static)) {
        if let Some(spans) = self.refused.add(u64::try_from(spans).unwrap_or(u64::MAX)) {
            tracing::warn!(error, spans, "could not export spans; jobs aren't affected");
        }
    }

    /// Notes that the receiver has accepted spans.
    pub(super) fn exported(&self) {
        if self.refused.failure.recovered() {
            tracing::info!("the export of spans has recovered");
        }
    }

    /// Counts spans for which the queue had no room; may be 0.
    pub(super) fn dropped(&mut self, spans: u64) {
        if spans > 0
            && let Some(spans) = self.dropped.add(spans)
        {
            tracing::warn!(spans, "spans dropped: more were recorded than exported");
        }
    }

    /// Logs the spans that no line has counted yet.
    pub(super) fn end(self) {
        let spans = self.refused.spans + self.dropped.spans;
        if spans > 0 {
            tracing::warn!(spans, "more spans were lost since the last line about them");
        }
    }
}
