//! The body of an outcome job: the ended job, as `GET …/outcomes` shows it.

use jiff::Timestamp;
use serde::Serialize;

use crate::names::{BucketName, JobId};
use crate::outcome::{AnswerBody, Outcome};

#[derive(Serialize)]
struct EndedJobBody<'a> {
    id: String,
    bucket: &'a str,
    state: &'static str,
    attempts: u32,
    accepted_at: String,
    due_at: Option<String>,
    caller: Option<&'a str>,
    outcome: OutcomeBody<'a>,
}

#[derive(Serialize)]
struct OutcomeBody<'a> {
    result: &'static str,
    reason: Option<&'a str>,
    status: Option<u16>,
    attempts: u32,
    settled_at: String,
    body: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content_encoding: Option<&'a str>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    base64: bool,
    truncated: bool,
}

/// Returns the body as JSON. Always the same for a job, as the submission may be repeated under its idempotency key.
#[must_use]
pub fn body(bucket: &BucketName, id: JobId, outcome: &Outcome, settled_ms: u64) -> Vec<u8> {
    let answer = outcome.answer.as_ref();
    let body = EndedJobBody {
        id: id.to_string(),
        bucket: bucket.as_str(),
        state: outcome.result.as_str(),
        attempts: outcome.attempts,
        accepted_at: time(id.accepted_ms()),
        due_at: None,
        caller: outcome.caller.as_deref(),
        outcome: OutcomeBody {
            result: outcome.result.as_str(),
            reason: outcome.reason.as_deref(),
            status: outcome.status,
            attempts: outcome.attempts,
            settled_at: time(settled_ms),
            body: answer.map(|answer| answer.body.as_str()),
            content_type: answer.and_then(|answer| answer.content_type.as_deref()),
            content_encoding: answer.and_then(|answer| answer.content_encoding.as_deref()),
            base64: answer.is_some_and(|answer: &AnswerBody| answer.base64),
            truncated: answer.is_some_and(|answer| answer.truncated),
        },
    };
    // Strings and numbers always serialize.
    serde_json::to_vec(&body).unwrap_or_default()
}

/// RFC 3339 with milliseconds, as in the API.
fn time(ms: u64) -> String {
    let at = i64::try_from(ms).ok().and_then(|ms| Timestamp::from_millisecond(ms).ok()).unwrap_or(Timestamp::MAX);
    format!("{at:.3}")
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
    use super::*;

    #[test]
    fn a_body_shows_the_end_of_its_job() {
        let record = r#"{"result":"dead","reason":"no","status":500,"attempts":2,"caller":"shop",
            "answer":{"content_type":"text/plain","body":"oops","truncated":true}}"#;
        let outcome = Outcome::from_record(record).unwrap();
        let id = JobId::new(1_700_000_000_000, 0);
        let body = body(&"orders".parse().unwrap(), id, &outcome, 1_700_000_000_012);
        let expected = concat!(
            r#"{"id":"1700000000000-0","bucket":"orders","state":"dead","attempts":2,"#,
            r#""accepted_at":"2023-11-14T22:13:20.000Z","due_at":null,"caller":"shop","outcome":{"result":"dead","#,
            r#""reason":"no","status":500,"attempts":2,"settled_at":"2023-11-14T22:13:20.012Z","body":"oops","#,
            r#""content_type":"text/plain","truncated":true}}"#,
        );
        assert_eq!(String::from_utf8(body).unwrap(), expected);
    }
}
