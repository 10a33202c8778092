//! A failed attempt as the API returns it.

use dripfeed_job::outcome::AnswerBody;
use dripfeed_job::outcome::failed_attempt::FailedAttempt;
use serde::Serialize;
use utoipa::ToSchema;

use crate::request::time;
use crate::request::visibility::Visibility;

/// An attempt that failed.
#[derive(Serialize, ToSchema)]
#[schema(as = FailedAttempt)]
pub(super) struct FailedJobAttempt {
    /// From 1.
    attempt: u32,
    /// When the job was claimed for this attempt.
    started_at: String,
    took_ms: u64,
    /// The replica that made the attempt.
    replica: String,
    /// Null: no complete response was received.
    #[schema(required)]
    status: Option<u16>,
    reason: String,
    /// The upstream's response, as far as it was stored; null for keys without the scope `inspect`, and for the last
    /// attempt, whose response is in the outcome.
    #[schema(required)]
    body: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<String>,
    /// In which `body` is compressed, as the upstream sent it.
    #[serde(skip_serializing_if = "Option::is_none")]
    content_encoding: Option<String>,
    /// `body` is base64, because it isn't UTF-8.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    base64: bool,
    /// Whether the stored response is cut.
    truncated: bool,
}

impl FailedJobAttempt {
    pub(super) fn of(failed: FailedAttempt, visibility: Visibility) -> Self {
        let (body, answer) = match failed.answer.filter(|_| visibility == Visibility::Payloads) {
            Some(mut answer) => (Some(std::mem::take(&mut answer.body)), answer),
            None => (None, AnswerBody::default()),
        };
        Self {
            attempt: failed.attempt,
            started_at: time::show(failed.at_ms),
            took_ms: failed.took_ms,
            replica: failed.replica,
            status: failed.status,
            reason: failed.reason,
            body,
            content_type: answer.content_type,
            content_encoding: answer.content_encoding,
            base64: answer.base64,
            truncated: answer.truncated,
        }
    }
}
