//! Submits one job.

use std::time::Duration;

use bytes::Bytes;
use dripfeed_job::{BucketName, JobId};
use http::{HeaderMap, Method, StatusCode};

use crate::call::ApiResponse;
use crate::client::Client;
use crate::client_error::ClientError;
use crate::new_job::NewJob;
use crate::prefer::{LONGEST_WAIT, prefer_wait};
use crate::receipt::Receipt;

/// The header that only responses with an upstream's answer have.
const JOB_ID: &str = "dripfeed-job-id";

/// The result of [`Client::push_and_wait`].
#[derive(Clone, Debug)]
pub enum PushAnswer {
    /// The job was delivered.
    Delivered(UpstreamResponse),
    /// The job is stored and not delivered yet; or it ended with another outcome, see [`Client::job`].
    Accepted(Receipt),
}

/// The upstream's answer to a delivered job.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct UpstreamResponse {
    pub id: Option<JobId>,
    pub status: Option<u16>,
    pub content_type: Option<String>,
    /// The compression of `body`, which isn't decompressed.
    pub content_encoding: Option<String>,
    pub body: Bytes,
    /// Whether the stored response is cut.
    pub truncated: bool,
}

impl Client {
    /// Submits a job. With retries it gets a random idempotency key, unless it has one.
    ///
    /// # Errors
    /// When the call is refused, or gets no answer within the retries.
    pub async fn push(&self, bucket: &BucketName, job: &NewJob) -> Result<Receipt, ClientError> {
        let job = self.to_send(job);
        self.submit(bucket, job.headers()?, &job.body, Duration::ZERO).await?.json()
    }

    /// Like [`Client::push`], and waits for the upstream's answer: whole seconds, at most 60.
    ///
    /// # Errors
    /// When the call is refused, or gets no answer within the retries. A timeout of the wait, or a dead-lettered job,
    /// isn't an error.
    pub async fn push_and_wait(
        &self,
        bucket: &BucketName,
        job: &NewJob,
        wait: Duration,
    ) -> Result<PushAnswer, ClientError> {
        let job = self.to_send(job);
        let answer = self.submit(bucket, job.headers()?, &job.body, wait.min(LONGEST_WAIT)).await?;
        // Without the header, the response isn't from dripfeed.
        if answer.status == StatusCode::OK && answer.headers.contains_key(JOB_ID) {
            return Ok(PushAnswer::Delivered(UpstreamResponse::of(answer)));
        }
        answer.json().map(PushAnswer::Accepted)
    }

    /// Adds an idempotency key if the job may be sent several times. Otherwise the bucket needn't store one.
    pub(crate) fn to_send(&self, job: &NewJob) -> NewJob {
        let job = job.clone();
        if self.retries.are_on() { job.keyed() } else { job }
    }

    /// `wait`: how long the intake waits for the upstream's answer.
    async fn submit(
        &self,
        bucket: &BucketName,
        headers: HeaderMap,
        body: &Bytes,
        wait: Duration,
    ) -> Result<ApiResponse, ClientError> {
        let path = format!("/v1/buckets/{bucket}/jobs");
        let call = |time, wait| {
            let mut headers = headers.clone();
            headers.extend(prefer_wait(wait));
            self.call_within(time, Method::POST, &path, headers, body.clone())
        };
        self.retries.run(wait, |_| true, call).await
    }
}

impl UpstreamResponse {
    fn of(answer: ApiResponse) -> Self {
        Self {
            id: answer.text(JOB_ID).and_then(|id| id.parse().ok()),
            status: answer.text("dripfeed-upstream-status").and_then(|status| status.parse().ok()),
            content_type: answer.text("content-type").map(str::to_owned),
            content_encoding: answer.text("content-encoding").map(str::to_owned),
            truncated: answer.headers.contains_key("dripfeed-truncated"),
            body: answer.body,
        }
    }
}
