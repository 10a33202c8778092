//! Submits jobs at a constant rate, whatever the results of earlier submissions.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use dripfeed_bucket::LARGEST_BODY;
use dripfeed_client::{Client, ClientError};
use dripfeed_job::{BucketName, Rate};
use http::{HeaderMap, Method};
use indicatif::ProgressBar;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use super::tally::{SubmissionResult, Tally};

/// The maximum of concurrent requests. Submissions that are due beyond it wait, which counts for their latency.
const MAX_CONCURRENT: usize = 1000;
/// Bounded, because all of them may be waiting in memory.
const MAX_SUBMISSIONS: u64 = 1_000_000;
/// How long to wait for responses after `stop`.
const AFTER_STOP: Duration = Duration::from_secs(5);

pub(super) struct Load {
    rate: Rate,
    submissions: u64,
    body: Bytes,
}

impl Load {
    /// # Errors
    /// When the number of submissions or the size of a payload is out of range.
    pub(super) fn new(rate: Rate, time: Duration, bytes: usize) -> Result<Self, String> {
        let submissions = time.as_micros() * u128::from(rate.limit()) / u128::from(rate.period_us());
        let submissions = u64::try_from(submissions).unwrap_or(u64::MAX);
        if !(1..=MAX_SUBMISSIONS).contains(&submissions) {
            return Err(format!("{submissions} submissions: use a rate and a time that give 1 to {MAX_SUBMISSIONS}"));
        }
        if bytes > LARGEST_BODY {
            return Err(format!("{bytes} bytes: an intake takes payloads of at most {LARGEST_BODY}"));
        }
        Ok(Self { rate, submissions, body: Bytes::from("x".repeat(bytes)) })
    }

    /// When a submission is due, as the time since the start.
    fn due(&self, number: u64) -> Duration {
        let micros = u128::from(number) * u128::from(self.rate.period_us()) / u128::from(self.rate.limit());
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    pub(super) const fn submissions(&self) -> u64 {
        self.submissions
    }

    /// Submits all jobs. Returns when all have ended; after `stop`, when those have ended that were due before, or
    /// after `AFTER_STOP`.
    pub(super) async fn run(
        &self,
        server: &Client,
        bucket: &BucketName,
        bar: &ProgressBar,
        stop: &CancellationToken,
    ) -> Tally {
        let (mut tally, mut requests) = (Tally::default(), JoinSet::new());
        let (permits, path) = (Arc::new(Semaphore::new(MAX_CONCURRENT)), format!("/v1/buckets/{bucket}/jobs"));
        let begun = Instant::now();
        let mut submitted = 0;
        while submitted < self.submissions {
            let due = self.due(submitted);
            tokio::select! {
                () = sleep_until(begun + due) => {}
                () = stop.cancelled() => break,
            }
            submitted += 1;
            let (server, path, body) = (server.clone(), path.clone(), self.body.clone());
            let permits = Arc::clone(&permits);
            requests.spawn(async move {
                let _permit = permits.acquire_owned().await;
                let result = server.call(Method::POST, &path, HeaderMap::new(), body).await;
                (due, begun.elapsed().saturating_sub(due), submission_result(result.err()))
            });
            while let Some(Ok((due, took, result))) = requests.try_join_next() {
                tally.add(due, took, result);
                bar.inc(1);
            }
        }
        let mut timeout = pin!(async {
            stop.cancelled().await;
            sleep(AFTER_STOP).await;
        });
        loop {
            let joined = tokio::select! {
                joined = requests.join_next() => joined,
                () = &mut timeout => break,
            };
            match joined {
                Some(Ok((due, took, result))) => {
                    tally.add(due, took, result);
                    bar.inc(1);
                }
                Some(Err(_)) => {}
                None => break,
            }
        }
        tally.set_missing(self.submissions - submitted, requests.len());
        tally.set_duration(self.due(submitted));
        tally
    }
}

fn submission_result(error: Option<ClientError>) -> SubmissionResult {
    match error {
        None => SubmissionResult::Accepted,
        Some(ClientError::Refused(problem)) if problem.is_retryable() => SubmissionResult::Refused(problem.code),
        Some(error) => SubmissionResult::Failed(error.into()),
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn submissions_are_due_at_the_rate_whatever_happens() {
        let load = Load::new("100/s".parse().unwrap(), Duration::from_secs(30), 1).unwrap();
        assert_eq!(
            (load.submissions(), load.due(0), load.due(150)),
            (3000, Duration::ZERO, Duration::from_millis(1500))
        );
        let odd = Load::new("3/s".parse().unwrap(), Duration::from_secs(1), 1).unwrap();
        assert_eq!(odd.due(3), Duration::from_secs(1));
        assert!(Load::new("1/day".parse().unwrap(), Duration::from_secs(1), 1).is_err());
        assert!(Load::new("1000000/s".parse().unwrap(), Duration::from_secs(3600), 1).is_err());
    }
}
