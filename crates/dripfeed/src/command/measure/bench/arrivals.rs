//! Submissions at a constant rate, whatever the results of earlier ones.

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

use super::tally::{Ended, Tally};

/// Requests on their way. One that is due beyond them waits, which its latency shows.
const MOST: usize = 1000;
/// All of them may wait.
const MOST_SUBMISSIONS: u64 = 1_000_000;
/// For answers to what is on its way at `stop`.
const AFTER_STOP: Duration = Duration::from_secs(5);

pub(super) struct Load {
    rate: Rate,
    submissions: u64,
    body: Bytes,
}

impl Load {
    /// # Errors
    /// When there is nothing, or far too much, to submit.
    pub(super) fn new(rate: Rate, time: Duration, bytes: usize) -> Result<Self, String> {
        let submissions = time.as_micros() * u128::from(rate.limit()) / u128::from(rate.period_us());
        let submissions = u64::try_from(submissions).unwrap_or(u64::MAX);
        if !(1..=MOST_SUBMISSIONS).contains(&submissions) {
            return Err(format!("{submissions} submissions: use a rate and a time that give 1 to {MOST_SUBMISSIONS}"));
        }
        if bytes > LARGEST_BODY {
            return Err(format!("{bytes} bytes: an intake takes payloads of at most {LARGEST_BODY}"));
        }
        Ok(Self { rate, submissions, body: Bytes::from("x".repeat(bytes)) })
    }

    /// When a submission is due, since the beginning.
    fn due(&self, number: u64) -> Duration {
        let micros = u128::from(number) * u128::from(self.rate.period_us()) / u128::from(self.rate.limit());
        Duration::from_micros(u64::try_from(micros).unwrap_or(u64::MAX))
    }

    pub(super) const fn submissions(&self) -> u64 {
        self.submissions
    }

    /// Returns when all have ended; at `stop`, when those have that were due before, or soon.
    pub(super) async fn run(
        &self,
        server: &Client,
        bucket: &BucketName,
        bar: &ProgressBar,
        stop: &CancellationToken,
    ) -> Tally {
        let (mut tally, mut under_way) = (Tally::default(), JoinSet::new());
        let (room, path) = (Arc::new(Semaphore::new(MOST)), format!("/v1/buckets/{bucket}/jobs"));
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
            let room = Arc::clone(&room);
            under_way.spawn(async move {
                let _place = room.acquire_owned().await;
                let answer = server.call(Method::POST, &path, HeaderMap::new(), body).await;
                (due, begun.elapsed().saturating_sub(due), ended(answer.err()))
            });
            while let Some(Ok((due, took, ended))) = under_way.try_join_next() {
                tally.add(due, took, ended);
                bar.inc(1);
            }
        }
        let mut end = pin!(async {
            stop.cancelled().await;
            sleep(AFTER_STOP).await;
        });
        loop {
            let joined = tokio::select! {
                joined = under_way.join_next() => joined,
                () = &mut end => break,
            };
            match joined {
                Some(Ok((due, took, ended))) => {
                    tally.add(due, took, ended);
                    bar.inc(1);
                }
                Some(Err(_)) => {}
                None => break,
            }
        }
        tally.cut(self.submissions - submitted, under_way.len());
        tally.lasted(self.due(submitted));
        tally
    }
}

fn ended(error: Option<ClientError>) -> Ended {
    match error {
        None => Ended::Accepted,
        Some(ClientError::Refused(problem)) if problem.is_retryable() => Ended::Refused(problem.code),
        Some(error) => Ended::Failed(error.into()),
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
