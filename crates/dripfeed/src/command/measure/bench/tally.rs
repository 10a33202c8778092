//! Results and latencies of the submissions.

use std::collections::BTreeMap;
use std::time::Duration;

use dripfeed_job::counted;
use hdrhistogram::Histogram;
use serde_json::{Value as Json, json};

use crate::client::RequestError;
use crate::exit::Failure;

/// An hour, in microseconds: no request takes longer.
const LONGEST: u64 = 3_600_000_000;

/// How a submission ended.
pub(super) enum Ended {
    Accepted,
    /// For now, with this code.
    Refused(String),
    /// There was no answer, or one that no later try would change.
    Failed(RequestError),
}

pub(super) struct Tally {
    accepted: u64,
    refused: BTreeMap<String, u64>,
    failed: u64,
    failure: Option<RequestError>,
    /// On their way when the bench was interrupted.
    unanswered: u64,
    interrupted: bool,
    /// From when a submission was due to its answer, in microseconds, of those that have one.
    latency: Option<Histogram<u64>>,
    /// How long submissions were due.
    lasted: Duration,
    /// Since the beginning.
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
            // Its arguments are sound: it exists.
            latency: Histogram::new_with_max(LONGEST, 3).ok(),
            lasted: Duration::ZERO,
            last_accepted: Duration::ZERO,
        }
    }
}

impl Tally {
    /// A submission that was due that long after the beginning, and took so long from then on.
    pub(super) fn add(&mut self, due: Duration, took: Duration, ended: Ended) {
        match ended {
            Ended::Accepted => {
                self.accepted += 1;
                self.last_accepted = self.last_accepted.max(due + took);
            }
            Ended::Refused(code) => *self.refused.entry(code).or_default() += 1,
            Ended::Failed(why) => {
                self.failed += 1;
                self.failure.get_or_insert(why);
                return;
            }
        }
        if let Some(latency) = &mut self.latency {
            latency.saturating_record(u64::try_from(took.as_micros()).unwrap_or(LONGEST).max(1));
        }
    }

    /// Without the answers to some, where the bench was interrupted: some weren't due yet, or were on their way.
    pub(super) fn cut(&mut self, not_due: u64, on_their_way: usize) {
        self.unanswered = u64::try_from(on_their_way).unwrap_or(u64::MAX);
        self.interrupted = not_due > 0 || on_their_way > 0;
    }

    pub(super) const fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    /// For that long submissions were due.
    pub(super) const fn lasted(&mut self, time: Duration) {
        self.lasted = time;
    }

    /// Why some failed, and the exit code of the first.
    pub(super) fn into_failure(self) -> Option<Failure> {
        let first = Failure::from(self.failure?);
        Some(Failure::new(
            first.exit,
            format!("{} failed; the first error: {first}", counted(self.failed, "submission")),
        ))
    }

    /// In ms. None: there were no answers.
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
        // An installation that can't keep up accepts for longer than submissions are due.
        let accepting = self.lasted.max(self.last_accepted);
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
            "due_per_s": per(due, seconds(self.lasted)),
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
            tally.add(Duration::ZERO, Duration::from_millis(ms), Ended::Accepted);
        }
        tally.add(Duration::ZERO, Duration::from_millis(500), Ended::Refused("bucket_full".to_owned()));
        tally.add(Duration::ZERO, Duration::from_secs(90), Ended::Failed(RequestError::TooLarge(7)));
        tally.lasted(Duration::from_secs(10));
        let found = tally.document();
        assert_eq!((&found["accepted"], &found["refused"], &found["failed"]), (&99.into(), &1.into(), &1.into()));
        assert_eq!((&found["due"], &found["accepted_per_s"]), (&101.into(), &9.9.into()));
        let about = |percent, ms: f64| tally.percentile(percent).is_some_and(|found| (found - ms).abs() < ms / 500.0);
        assert!(about(50.0, 50.0) && about(100.0, 500.0), "{found}");
        let failure = tally.into_failure().map(|failure| failure.to_string());
        assert!(failure.is_some_and(|why| why.starts_with("1 submission failed; the first error: an event of more")));
    }

    #[test]
    fn without_answers_there_is_no_latency() {
        let mut tally = Tally::default();
        tally.add(Duration::ZERO, Duration::from_secs(90), Ended::Failed(RequestError::TooLarge(7)));
        tally.lasted(Duration::from_secs(1));
        assert_eq!(tally.document()["latency_ms"], Json::Null);
        assert_eq!(tally.percentile(50.0), None);
    }

    #[test]
    fn the_accepted_rate_counts_the_time_that_accepting_took() {
        let mut tally = Tally::default();
        for second in 0..10 {
            // One a second was due, and each took a second longer than the one before.
            tally.add(Duration::from_secs(second), Duration::from_secs(second + 1), Ended::Accepted);
        }
        tally.lasted(Duration::from_secs(10));
        let found = tally.document();
        assert_eq!((&found["due_per_s"], &found["accepted_per_s"]), (&1.0.into(), &0.5.into()), "{found}");
    }
}
