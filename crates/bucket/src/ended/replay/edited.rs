//! Replay of a dead letter with another payload.

use std::time::Duration;

use bytes::Bytes;
use dripfeed_job::JobId;
use http::header::CONTENT_ENCODING;

use super::ReplayResult;
use super::letter_job::{fields_in, submission_of};
use crate::bucket::Bucket;
use crate::ended::dead_letters::REPLAY_OF;
use crate::error::BucketError;
use crate::settings::Kind;

impl Bucket {
    /// Like [`Bucket::replay`], with another payload. The new job references the old one. List buckets, and jobs that
    /// can't be parsed, aren't supported. `content_type` `None` is unchanged, `content_encoding` `None` is removed.
    ///
    /// # Errors
    /// When Redis can't be reached, refuses, or doesn't answer in time.
    pub async fn replay_edited(
        &self,
        id: JobId,
        body: Bytes,
        content_type: Option<String>,
        content_encoding: Option<&str>,
    ) -> Result<ReplayResult, BucketError> {
        if self.redis_bucket.kind == Kind::List {
            return Err(BucketError::Unsupported("replays with another payload"));
        }
        let Some((_, fields)) = self.redis_bucket.letter_of(id).await? else { return Ok(ReplayResult::Unknown) };
        let mut job = submission_of(id, fields)
            .map_err(|_| BucketError::Edit("it is no job that dripfeed has submitted".to_owned()))?;
        job.headers.remove(&CONTENT_ENCODING);
        if let Some(encoding) = content_encoding {
            let pushed = job.headers.push(CONTENT_ENCODING.as_str(), encoding);
            pushed.map_err(|error| BucketError::Edit(error.to_string()))?;
        }
        (job.body, job.content_type) = (body, content_type.or(job.content_type));
        let mut edited = fields_in(Kind::Stream, job);
        edited.push((REPLAY_OF, id.to_string().into_bytes()));
        let replayed = self.redis_bucket.replay(id, Duration::ZERO, None, edited).await?;
        Ok(replayed.unwrap_or(ReplayResult::Unknown))
    }
}
