//! Looking at a job, waiting for its end, and cancelling it.

use std::time::Duration;

use bytes::Bytes;
use dripfeed_job::{BucketName, JobId};
use http::{HeaderMap, Method};
use tokio::time::{Instant, sleep};

use crate::call::ApiResponse;
use crate::client::Client;
use crate::client_error::ClientError;
use crate::job_status::JobStatus;

/// Between two looks at a job: longer each time.
const FIRST_LOOK: Duration = Duration::from_millis(50);
const LAST_LOOK: Duration = Duration::from_secs(2);

impl Client {
    /// Where a job is, or how it ended.
    ///
    /// # Errors
    /// When it is refused, as where the outcome isn't kept any more, or unanswered.
    pub async fn job(&self, bucket: &BucketName, id: JobId) -> Result<JobStatus, ClientError> {
        self.of_job(Method::GET, bucket, id).await?.json()
    }

    /// The job when it has ended, or as it is after `within`. [`Client::push_and_wait`] returns the upstream's answer.
    ///
    /// # Errors
    /// As [`Client::job`].
    pub async fn wait(&self, bucket: &BucketName, id: JobId, within: Duration) -> Result<JobStatus, ClientError> {
        let begun = Instant::now();
        let mut pause = FIRST_LOOK;
        loop {
            let job = self.job(bucket, id).await?;
            let left = within.saturating_sub(begun.elapsed());
            if job.has_ended() || left.is_zero() {
                return Ok(job);
            }
            sleep(pause.min(left)).await;
            pause = pause.mul_f64(1.5).min(LAST_LOOK);
        }
    }

    /// Cancels a job that is waiting or parked; one that is cancelled already stays so.
    ///
    /// # Errors
    /// When it is refused, as for a job in flight, or unanswered.
    pub async fn cancel(&self, bucket: &BucketName, id: JobId) -> Result<(), ClientError> {
        self.of_job(Method::DELETE, bucket, id).await.map(|_| ())
    }

    /// Calls that may be repeated.
    async fn of_job(&self, method: Method, bucket: &BucketName, id: JobId) -> Result<ApiResponse, ClientError> {
        let path = format!("/v1/buckets/{bucket}/jobs/{id}");
        let call = |time| self.call_within(time, method.clone(), &path, HeaderMap::new(), Bytes::new());
        self.retries.run(|_| true, call).await
    }
}
