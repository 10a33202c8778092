//! What is logged of spans that nobody gets: a line when it begins, one a minute while it lasts, and one at the end of
//! the process, so that none is left out.

use std::error::Error;

use dripfeed_store::Trouble;

/// Spans that were lost in one way.
#[derive(Default)]
struct Loss {
    trouble: Trouble,
    /// Since the last line.
    spans: u64,
}

impl Loss {
    /// How many a line that is due has to report.
    fn came(&mut self, spans: u64) -> Option<u64> {
        self.spans += spans;
        self.trouble.came().map(|_| std::mem::take(&mut self.spans))
    }
}

#[derive(Default)]
pub(super) struct Losses {
    refused: Loss,
    dropped: Loss,
}

impl Losses {
    /// The receiver didn't take `spans`.
    pub(super) fn not_exported(&mut self, spans: usize, error: &(dyn Error + 'static)) {
        if let Some(spans) = self.refused.came(u64::try_from(spans).unwrap_or(u64::MAX)) {
            tracing::warn!(error, spans, "could not export spans; jobs aren't affected");
        }
    }

    /// The receiver took spans.
    pub(super) fn exported(&self) {
        if self.refused.trouble.seems_over() {
            tracing::info!("the export of spans has recovered");
        }
    }

    /// `spans` found no room in the queue; maybe none.
    pub(super) fn dropped(&mut self, spans: u64) {
        if spans > 0
            && let Some(spans) = self.dropped.came(spans)
        {
            tracing::warn!(spans, "spans dropped: more were recorded than exported");
        }
    }

    /// What no line has reported yet.
    pub(super) fn end(self) {
        let spans = self.refused.spans + self.dropped.spans;
        if spans > 0 {
            tracing::warn!(spans, "more spans were lost since the last line about them");
        }
    }
}
