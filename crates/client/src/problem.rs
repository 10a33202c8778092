//! A problem document (RFC 9457).

use std::fmt;
use std::time::Duration;

use dripfeed_job::duration;
use http::StatusCode;
use serde_json::Value as Json;

/// Why an intake refused a call, or an item of a batch.
#[derive(Clone, Debug)]
pub struct Problem {
    pub status: StatusCode,
    /// Such as `bucket_full`; empty if the response isn't from dripfeed but, for example, from a proxy.
    pub code: String,
    /// When to retry: from the problem, otherwise from `Retry-After`.
    pub retry_after: Option<Duration>,
    /// The document as received.
    pub document: Json,
}

impl Problem {
    /// Reads the body of a refusal, which may also come from a proxy in front of the intake.
    pub(crate) fn of(status: StatusCode, retry_after: Option<Duration>, body: &[u8]) -> Self {
        let document: Json = serde_json::from_slice(body).unwrap_or_default();
        let problem = Self::of_document(status, document);
        Self { retry_after: problem.retry_after.or(retry_after), ..problem }
    }

    pub(crate) fn of_document(status: StatusCode, document: Json) -> Self {
        let code = document["code"].as_str().unwrap_or_default().to_owned();
        let retry_after = document["retry_after_ms"].as_u64().map(Duration::from_millis);
        Self { status, code, retry_after, document }
    }

    /// Returns whether the same request may succeed a little later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        matches!(self.status.as_u16(), 408 | 429 | 502..=504 | 507) && self.document["retryable"] != Json::Bool(false)
    }

    /// Returns whether the call was certainly not executed. Unknown if a proxy lost the answer (502, 504), or if the
    /// intake lost its connection to Redis, which it reports as `"outcome": "unknown"`.
    pub(crate) fn was_not_executed(&self) -> bool {
        let is_from_proxy = self.code.is_empty() && matches!(self.status.as_u16(), 502 | 504);
        !is_from_proxy && self.document["outcome"] != "unknown"
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |member: &str| self.document[member].as_str().unwrap_or_default();
        match (text("title"), text("detail")) {
            ("", _) => write!(f, "the server answered {}", self.status)?,
            (title, "") => write!(f, "{title} ({})", self.code)?,
            (title, detail) => {
                // Some details contain the member's name.
                let member = text("member");
                let member = if detail.contains(member) { "" } else { member };
                let colon = if member.is_empty() { "" } else { ": " };
                write!(f, "{title}: {member}{colon}{detail} ({})", self.code)?;
            }
        }
        match self.retry_after {
            Some(wait) => write!(f, "; retry in {}", duration::show(wait)),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn temporary_problems_are_retryable() {
        let retried = |status: StatusCode, document| Problem::of_document(status, document).is_retryable();
        // A network that stood still within a body.
        assert!(retried(StatusCode::REQUEST_TIMEOUT, json!({"code": "body_timeout"})));
        assert!(retried(StatusCode::TOO_MANY_REQUESTS, json!({})));
        assert!(!retried(StatusCode::TOO_MANY_REQUESTS, json!({"retryable": false})));
        assert!(!retried(StatusCode::UNPROCESSABLE_ENTITY, json!({})));
    }

    #[test]
    fn a_problem_names_the_member_that_is_wrong() {
        let shown = |detail: &str| {
            let document = json!({
                "code": "bad_member", "title": "Invalid", "member": "leak.concurrency", "detail": detail,
            });
            Problem::of_document(StatusCode::UNPROCESSABLE_ENTITY, document).to_string()
        };
        assert_eq!(shown("must be 1 or more"), "Invalid: leak.concurrency: must be 1 or more (bad_member)");
        assert_eq!(shown("leak.concurrency: is 0"), "Invalid: leak.concurrency: is 0 (bad_member)");
    }
}
