//! Counts results of submissions, and records their latencies.

use std::collections::BTreeMap;
use std::time::Duration;

use dripfeed_job::pluralize;
use hdrhistogram::Histogram;
use serde_json::{Value as Json, json};

use crate::client::RequestError;
use crate::exit::Failure;

/// An hour, in microseconds, which no request exceeds.
const MAX_LATENCY_US: u64 = 3_600_000_000;

/// The result of a submission.
pub(super) enum SubmissionResult {
    Accepted,
    /// Refused with this code; a retry may succeed.
    Refused(String),
    /// No response, or an error that a retry wouldn't change.
    Failed(RequestError),
}

pub(super) struct Tally {
    accepted: u64,
    refused: BTreeMap<String, u64>,
    failed: u64,
    failure: Option<RequestError>,
    /// The number of submissions without a response when the bench was interrupted.
    unanswered: u64,
    interrupted: bool,
    /// The times from when submissions were due to their responses, in microseconds.
    latency: Option<Histogram<u64>>,
    /// The time in which submissions were due.
    duration: Duration,
    /// When the last job was accepted, as the time since the start.
    last_accepted: Duration,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            accepted: 0,
            refused: BTreeMap::new(),
            failed: 0,
            failure: None,
            unanswered: 0,
            interrupted: false,
            // `Some`, because the arguments are valid.
            latency: Histogram::new_with_max(MAX_LATENCY_US, 3).ok(),
            duration: Duration::ZERO,
            last_accepted: Duration::ZERO,
        }
    }
}

impl Tally {
    /// Adds a submission that was due at `due` after the start, and took `took` from then on.
    pub(super) fn add(&mut self, due: Duration, took: Duration, result: SubmissionResult) {
        match result {
            SubmissionResult::Accepted => {
                self.accepted += 1;
                self.last_accepted = self.last_accepted.max(due + took);
            }
            SubmissionResult::Refused(code) => *self.refused.entry(code).or_default() += 1,
            SubmissionResult::Failed(why) => {
                self.failed += 1;
                self.failure.get_or_insert(why);
                return;
            }
        }
        if let Some(latency) = &mut self.latency {
            latency.saturating_record(u64::try_from(took.as_micros()).unwrap_or(MAX_LATENCY_US).max(1));
        }
    }

    /// Sets how many submissions weren't due yet, and how many had no response yet, when the bench was interrupted.
    pub(super) fn set_missing(&mut self, not_due: u64, unanswered: usize) {
        self.unanswered = u64::try_from(unanswered).unwrap_or(u64::MAX);
        self.interrupted = not_due > 0 || unanswered > 0;
    }

    pub(super) const fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    /// Sets the time in which submissions were due.
    pub(super) const fn set_duration(&mut self, duration: Duration) {
        self.duration = duration;
    }

    /// Returns the number of failures with the first error and its exit code, if there are any.
    pub(super) fn into_failure(self) -> Option<Failure> {
        let first = Failure::from(self.failure?);
        Some(Failure::new(
            first.exit,
            format!("{} failed; the first error: {first}", pluralize(self.failed, "submission")),
        ))
    }

    /// In ms. Returns `None` if there were no responses.
    pub(super) fn percentile(&self, percent: f64) -> Option<f64> {
        self.measured().map(|latency| ms(latency.value_at_percentile(percent)))
    }

    fn measured(&self) -> Option<&Histogram<u64>> {
        self.latency.as_ref().filter(|latency| !latency.is_empty())
    }

    pub(super) fn document(&self) -> Json {
        let refused: u64 = self.refused.values().sum();
        let due = self.accepted + refused + self.failed + self.unanswered;
        let seconds = |time: Duration| time.as_secs_f64().max(1e-6);
        // An installation that is too slow still accepts jobs after the last one was due.
        let accepting = self.duration.max(self.last_accepted);
        let latency = self.measured().map(|latency| {
            let percentile = |percent| ms(latency.value_at_percentile(percent));
            json!({
                "p50": percentile(50.0),
                "p90": percentile(90.0),
                "p99": percentile(99.0),
                "p99_9": percentile(99.9),
                "max": ms(latency.max()),
            })
        });
        json!({
            "due": due,
            "accepted": self.accepted,
            "refused": refused,
            "refused_by_code": self.refused,
            "failed": self.failed,
            "unanswered": self.unanswered,
            "interrupted": self.interrupted,
            "due_per_s": per(due, seconds(self.duration)),
            "accepted_per_s": per(self.accepted, seconds(accepting)),
            "latency_ms": latency,
        })
    }
}

#[expect(clippy::cast_precision_loss, reason = "at most an hour")]
fn ms(micros: u64) -> f64 {
    micros as f64 / 1000.0
}

#[expect(clippy::cast_precision_loss, reason = "at most a million")]
fn per(count: u64, seconds: f64) -> f64 {
    (count as f64 / seconds * 10.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_with_their_latency_and_silence_without() {
        let mut tally = Tally::default();
        for ms in 1..=99 {
            tally.add(Duration::ZERO, Duration::from_millis(ms), SubmissionResult::Accepted);
        }
        tally.add(Duration::ZERO, Duration::from_millis(500), SubmissionResult::Refused("bucket_full".to_owned()));
        tally.add(Duration::ZERO, Duration::from_secs(90), SubmissionResult::Failed(RequestError::TooLarge(7)));
        tally.set_duration(Duration::from_secs(10));
        let document = tally.document();
        let count = |name: &str| &document[name];
        assert_eq!((count("accepted"), count("refused"), count("failed")), (&99.into(), &1.into(), &1.into()));
        assert_eq!((count("due"), count("accepted_per_s")), (&101.into(), &9.9.into()));
        let about = |percent, ms: f64| tally.percentile(percent).is_some_and(|found| (found - ms).abs() < ms / 500.0);
        assert!(about(50.0, 50.0) && about(100.0, 500.0), "{document}");
        let failure = tally.into_failure().map(|failure| failure.to_string());
        assert!(failure.is_some_and(|why| why.starts_with("1 submission failed; the first error: an event of more")));
    }

    #[test]
    fn without_answers_there_is_no_latency() {
        let mut tally = Tally::default();
        tally.add(Duration::ZERO, Duration::from_secs(90), SubmissionResult::Failed(RequestError::TooLarge(7)));
        tally.set_duration(Duration::from_secs(1));
        assert_eq!(tally.document()["latency_ms"], Json::Null);
        assert_eq!(tally.percentile(50.0), None);
    }

    #[test]
    fn the_accepted_rate_counts_the_time_that_accepting_took() {
        let mut tally = Tally::default();
        for second in 0..10 {
            // One a second was due, and each took a second longer than the one before.
            tally.add(Duration::from_secs(second), Duration::from_secs(second + 1), SubmissionResult::Accepted);
        }
        tally.set_duration(Duration::from_secs(10));
        let document = tally.document();
        assert_eq!((&document["due_per_s"], &document["accepted_per_s"]), (&1.0.into(), &0.5.into()), "{document}");
    }
}
