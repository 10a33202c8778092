//! The numbers of a bucket in each frame since it was opened.

use std::collections::VecDeque;

use dripfeed_dashboard::frame::Row;

/// The most frames that are kept: 10 minutes, as one comes each second.
const MOST: usize = 600;

#[derive(Debug, Default)]
pub(super) struct BucketHistory(VecDeque<Sample>);

/// The numbers of one frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    pub(super) level: f64,
    pub(super) accepted_per_s: f64,
    pub(super) refused_per_s: f64,
    pub(super) settled_per_s: f64,
}

impl BucketHistory {
    #[expect(clippy::cast_precision_loss, reason = "a picture")]
    pub(super) fn add(&mut self, row: &Row) {
        if self.0.len() == MOST {
            self.0.pop_front();
        }
        self.0.push_back(Sample {
            level: row.level as f64,
            accepted_per_s: row.accepted_per_s,
            refused_per_s: row.refused_per_s,
            settled_per_s: row.settled_per_s,
        });
    }

    /// Returns the last values of one number, at most `most` of them, the latest last.
    pub(super) fn last(&self, most: usize, number: fn(&Sample) -> f64) -> Vec<f64> {
        self.0.iter().skip(self.0.len().saturating_sub(most)).map(number).collect()
    }
}
