//! Reads a job, waits for its outcome, and cancels it.

use std::time::Duration;

use bytes::Bytes;
use dripfeed_job::{BucketName, JobId};
use http::Method;
use tokio::time::{Instant, sleep};

use crate::call::ApiResponse;
use crate::client::Client;
use crate::client_error::ClientError;
use crate::job_status::JobStatus;
use crate::prefer::{LONGEST_WAIT, prefer_wait};

/// The interval of polling a job grows from the first to the second.
const MIN_POLL_INTERVAL: Duration = Duration::from_millis(50);
const MAX_POLL_INTERVAL: Duration = Duration::from_secs(2);

impl Client {
    /// Returns the state of a job, or its outcome.
    ///
    /// # Errors
    /// When the call is refused, for example because the outcome has expired, or gets no answer.
    pub async fn job(&self, bucket: &BucketName, id: JobId) -> Result<JobStatus, ClientError> {
        self.job_call(Method::GET, bucket, id, Duration::ZERO).await?.json()
    }

    /// Waits until the job has ended, at most `within`, and returns its state. If the intake doesn't answer, the
    /// retries may take longer. [`Client::push_and_wait`] returns the upstream's answer.
    ///
    /// # Errors
    /// As [`Client::job`].
    pub async fn wait(&self, bucket: &BucketName, id: JobId, within: Duration) -> Result<JobStatus, ClientError> {
        let begun = Instant::now();
        let mut pause = MIN_POLL_INTERVAL;
        loop {
            let answer = self.job_call(Method::GET, bucket, id, within.saturating_sub(begun.elapsed())).await?;
            let (job, left) = (answer.json::<JobStatus>()?, within.saturating_sub(begun.elapsed()));
            if job.has_ended() || left.is_zero() {
                return Ok(job);
            }
            // An intake with too many waiting calls, or of an earlier version, answers at once.
            if answer.text("preference-applied").is_none() {
                sleep(pause.min(left)).await;
                pause = pause.mul_f64(1.5).min(MAX_POLL_INTERVAL);
            }
        }
    }

    /// Cancels a waiting or parked job. Cancelling a cancelled job has no effect.
    ///
    /// # Errors
    /// When the call is refused, for example because the job is in flight, or gets no answer.
    pub async fn cancel(&self, bucket: &BucketName, id: JobId) -> Result<(), ClientError> {
        self.job_call(Method::DELETE, bucket, id, Duration::ZERO).await.map(|_| ())
    }

    /// Reads or cancels a job; both may be repeated.
    async fn job_call(
        &self,
        method: Method,
        bucket: &BucketName,
        id: JobId,
        wait: Duration,
    ) -> Result<ApiResponse, ClientError> {
        let path = format!("/v1/buckets/{bucket}/jobs/{id}");
        let call = |time, wait: Duration| {
            // Rounded down, so that the intake doesn't wait longer than `wait`.
            let headers = prefer_wait(Duration::from_secs(wait.as_secs())).into_iter().collect();
            self.call_within(time, method.clone(), &path, headers, Bytes::new())
        };
        self.retries.run(wait.min(LONGEST_WAIT), |_| true, call).await
    }
}
