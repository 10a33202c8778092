//! Dead letters: listing and replaying them.

use std::time::Duration;

use bytes::Bytes;
use dripfeed_job::{BucketName, JobId};
use http::{HeaderMap, Method};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::client::Client;
use crate::client_error::ClientError;
use crate::job_status::JobOutcome;
use crate::receipt::Receipt;

/// A job that couldn't be delivered.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[non_exhaustive]
pub struct DeadLetter {
    pub id: JobId,
    pub accepted_at: String,
    pub died_at: String,
    pub caller: Option<String>,
    pub outcome: JobOutcome,
    /// All other members of the API's response; for keys with the scope `inspect` also payload, path and headers.
    #[serde(flatten)]
    pub more: Map<String, Json>,
}

impl Client {
    /// Returns the oldest dead letters of a bucket, up to `most`. [`Client::list`] has filters, and pages.
    ///
    /// # Errors
    /// When the call is refused or gets no answer.
    pub async fn dead_letters(&self, bucket: &BucketName, most: usize) -> Result<Vec<DeadLetter>, ClientError> {
        let path = format!("/v1/buckets/{bucket}/dead");
        let (mut pages, mut letters) = (self.list(&path, &[], most), Vec::new());
        while let Some(page) = pages.next().await? {
            for letter in page {
                letters.push(serde_json::from_value(letter).map_err(ClientError::Unexpected)?);
            }
        }
        Ok(letters)
    }

    /// Submits a dead letter as a new job. A call that may have been executed isn't retried, as the job would be
    /// submitted twice.
    ///
    /// # Errors
    /// When the call is refused or gets no answer.
    pub async fn replay(&self, bucket: &BucketName, id: JobId) -> Result<Receipt, ClientError> {
        let path = format!("/v1/buckets/{bucket}/dead/{id}/replay");
        let call = |time, _| self.call_within(time, Method::POST, &path, HeaderMap::new(), Bytes::new());
        self.retries.run(Duration::ZERO, ClientError::was_not_executed, call).await?.json()
    }
}
