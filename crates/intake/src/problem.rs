//! Refusals and errors as RFC 9457 problems. Every answer that says no is made here.
//!
//! **Architecture invariant:** a problem tells what its caller can act on, never what happened inside: internal texts go
//! to the log.

mod services;

use std::error::Error;
use std::time::{Duration, Instant};

use axum::Json;
use axum::response::{IntoResponse, Response};
use dripfeed_bucket::{BucketError, Reason, Refused};
use dripfeed_job::duration::ms_up;
use dripfeed_store::{Certainty, ErrorKind};
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use crate::rarely::Rarely;

/// What can be wrong, by the name that callers see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    BadBatch,
    BadBody,
    BadIdempotencyKey,
    BadJson,
    BadYaml,
    Unauthenticated,
    Forbidden,
    NotFound,
    UnknownBucket,
    UnknownJob,
    UnknownService,
    MethodNotAllowed,
    BodyTimeout,
    IdempotencyConflict,
    InFlight,
    JobEnded,
    BodyTooLarge,
    BadMediaType,
    BadItem,
    BadMember,
    BadOption,
    BadQuery,
    ManyServices,
    Unsupported,
    BucketFull,
    CallerLimit,
    DeadlineUnreachable,
    HeadersTooLarge,
    Internal,
    Draining,
    Overloaded,
    StoreUnavailable,
    StoreFull,
}

impl Code {
    pub(crate) const ALL: [Self; 33] = [
        Self::BadBatch,
        Self::BadBody,
        Self::BadIdempotencyKey,
        Self::BadJson,
        Self::BadYaml,
        Self::Unauthenticated,
        Self::Forbidden,
        Self::NotFound,
        Self::UnknownBucket,
        Self::UnknownJob,
        Self::UnknownService,
        Self::MethodNotAllowed,
        Self::BodyTimeout,
        Self::IdempotencyConflict,
        Self::InFlight,
        Self::JobEnded,
        Self::BodyTooLarge,
        Self::BadMediaType,
        Self::BadItem,
        Self::BadMember,
        Self::BadOption,
        Self::BadQuery,
        Self::ManyServices,
        Self::Unsupported,
        Self::BucketFull,
        Self::CallerLimit,
        Self::DeadlineUnreachable,
        Self::HeadersTooLarge,
        Self::Internal,
        Self::Draining,
        Self::Overloaded,
        Self::StoreUnavailable,
        Self::StoreFull,
    ];

    /// Status, name and title: one line for each.
    const fn line(self) -> (u16, &'static str, &'static str) {
        match self {
            Self::BadBatch => (400, "bad_batch", "The batch can't be read; nothing of it was stored"),
            Self::BadBody => (400, "bad_body", "The body did not arrive whole"),
            Self::BadIdempotencyKey => (400, "bad_idempotency_key", "The idempotency key can't be used"),
            Self::BadJson => (400, "bad_json", "The body is not JSON"),
            Self::BadYaml => (400, "bad_yaml", "The body is not YAML"),
            Self::Unauthenticated => (401, "unauthenticated", "A valid key is needed"),
            Self::Forbidden => (403, "forbidden", "Not allowed"),
            Self::NotFound => (404, "not_found", "There is nothing here"),
            Self::UnknownBucket => (404, "unknown_bucket", "There is no such bucket"),
            Self::UnknownJob => (404, "unknown_job", "There is no such job in this bucket"),
            Self::UnknownService => (404, "unknown_service", "There is no such service"),
            Self::MethodNotAllowed => (405, "method_not_allowed", "This can't be done here"),
            Self::BodyTimeout => (408, "body_timeout", "The body took too long to arrive"),
            Self::IdempotencyConflict => {
                (409, "idempotency_conflict", "The idempotency key names a job with another content")
            }
            Self::InFlight => (409, "in_flight", "The job is being called now"),
            Self::JobEnded => (409, "job_ended", "The job has ended"),
            Self::BodyTooLarge => (413, "body_too_large", "The body is too large"),
            Self::BadMediaType => (415, "bad_media_type", "The body comes in a form that isn't read here"),
            Self::BadItem => (422, "bad_item", "The item of the batch can't be used"),
            Self::BadMember => (422, "bad_member", "A member of the body can't be used"),
            Self::BadOption => (422, "bad_option", "An option can't be used"),
            Self::BadQuery => (422, "bad_query", "A parameter of the query can't be used"),
            Self::ManyServices => (422, "many_services", "There is no room for these rules"),
            Self::Unsupported => (422, "unsupported", "This bucket can't do that"),
            Self::BucketFull => (429, "bucket_full", "The bucket is full"),
            Self::CallerLimit => (429, "caller_limit", "A limit is reached"),
            Self::DeadlineUnreachable => (429, "deadline_unreachable", "The job would leak after its own deadline"),
            Self::HeadersTooLarge => (431, "headers_too_large", "The head of the request is too large"),
            Self::Internal => (500, "internal", "Something went wrong in dripfeed"),
            Self::Draining => (503, "draining", "This intake is stopping"),
            Self::Overloaded => (503, "overloaded", "This intake holds all that it may"),
            Self::StoreUnavailable => (503, "store_unavailable", "Redis can't serve this now"),
            Self::StoreFull => (507, "store_full", "Redis has no memory left"),
        }
    }

    pub(crate) fn status(self) -> StatusCode {
        StatusCode::from_u16(self.line().0).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }

    pub(crate) const fn as_str(self) -> &'static str {
        self.line().1
    }

    pub(crate) const fn title(self) -> &'static str {
        self.line().2
    }

    /// After these the connection can't carry another request: the rest of this one was not read, or must not come.
    const fn closes(self) -> bool {
        matches!(
            self,
            Self::BodyTooLarge
                | Self::BodyTimeout
                | Self::BadBody
                | Self::HeadersTooLarge
                | Self::Draining
                | Self::Overloaded
        )
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// A refusal, with all that is to be said about it.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    code: Code,
    detail: String,
    more: Box<More>,
    fields: Vec<(HeaderName, HeaderValue)>,
}

/// Members that only some problems have.
#[derive(Clone, Debug, Default, Serialize, ToSchema)]
pub(crate) struct More {
    /// How long to wait before asking again, exactly.
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    /// False: no wait will help, the same request is refused every time.
    #[serde(skip_serializing_if = "Option::is_none")]
    retryable: Option<bool>,
    /// Whether Redis holds anything of the request: `not_stored`, or `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<&'static str>,
    /// The limits that refuse, by id.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    violated_policies: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    level: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity: Option<u64>,
    /// The options that can't be used, all of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    options: Vec<BadOption>,
    /// All that can't be used in a body that is taken whole or not at all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<Fault>,
    #[serde(flatten)]
    place: Place,
}

/// Where in a body it went wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Place {
    /// The item of a batch, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) item: Option<usize>,
    /// The path of a member, such as `leak.rate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) member: Option<String>,
    /// Counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) line: Option<usize>,
    /// In bytes, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) column: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct BadOption {
    /// The header, or the member of `options` in a batch.
    pub(crate) name: String,
    pub(crate) reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Fault {
    /// The path of a member, such as `policies[0].tiers[1]`; empty: the body as a whole.
    pub(crate) place: String,
    pub(crate) reason: String,
}

impl Problem {
    pub(crate) fn new(code: Code, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into(), more: Box::default(), fields: Vec::new() }
    }

    pub(crate) fn unknown_bucket() -> Self {
        Self::new(Code::UnknownBucket, "no bucket of this name is configured; GET /v1/buckets lists them")
    }

    pub(crate) fn unknown_job() -> Self {
        Self::new(Code::UnknownJob, "the bucket holds no job of this id, and remembers none")
    }

    pub(crate) fn unknown_dead_letter() -> Self {
        Self::new(Code::UnknownJob, "the bucket holds no dead letter of this id")
    }

    pub(crate) fn unknown_service() -> Self {
        Self::new(Code::UnknownService, "no service of this name is registered; PUT its rules first")
    }

    pub(crate) fn draining() -> Self {
        Self::new(Code::Draining, "nothing of this request was stored; send it again, another intake will answer")
            .retry_after(Some(Duration::from_secs(1)))
    }

    /// An error of the code that a panic brought to light.
    pub(crate) fn internal() -> Self {
        Self::new(Code::Internal, "the log of this intake tells more")
    }

    /// Options that can't be used. A bad idempotency key is a malformed request, whatever else is wrong.
    pub(crate) fn bad_options(options: Vec<BadOption>) -> Self {
        let is_key = |option: &BadOption| matches!(option.name.as_str(), "idempotency-key" | "idempotency_key");
        let code = if options.iter().any(is_key) { Code::BadIdempotencyKey } else { Code::BadOption };
        let names: Vec<&str> = options.iter().map(|option| option.name.as_str()).collect();
        let mut problem = Self::new(code, format!("can't be used: {}", names.join(", ")));
        problem.more.options = options;
        problem
    }

    /// A refusal that no limit of the caller had a part in.
    pub(crate) fn refused(refused: &Refused) -> Self {
        let (code, detail) = match refused.reason {
            Reason::BucketFull => (Code::BucketFull, "the bucket has no room for this job; send it again later"),
            Reason::NeverFits => (Code::BodyTooLarge, "the job is larger than all the bytes the bucket may hold"),
            Reason::DeadlineUnreachable => {
                (Code::DeadlineUnreachable, "at the present pace the job's turn comes after it has expired")
            }
            Reason::IdempotencyConflict => {
                (Code::IdempotencyConflict, "send the same method, path and body under a key, or another key")
            }
            Reason::CallerLimit => (Code::CallerLimit, "a limit lets no more of this pass now; send it again later"),
            Reason::ShareTaken => {
                (Code::CallerLimit, "your jobs take as much of the bucket as one caller may; send it again later")
            }
        };
        let mut problem = Self::new(code, detail).retry_after(refused.retry_after);
        let never_passes = code.status() == StatusCode::TOO_MANY_REQUESTS && refused.retry_after.is_none();
        problem.more.retryable = never_passes.then_some(false);
        problem.more.level = Some(refused.level);
        problem.more.capacity = Some(refused.capacity);
        problem
    }

    /// Names the limits that refuse, with the message of one of them.
    pub(crate) fn violating(mut self, policies: Vec<String>, message: Option<String>) -> Self {
        self.more.violated_policies = policies;
        self.detail = message.unwrap_or(self.detail);
        self
    }

    pub(crate) fn retry_after(mut self, wait: Option<Duration>) -> Self {
        self.more.retry_after_ms = wait.map(ms_up);
        self
    }

    pub(crate) fn at(mut self, place: Place) -> Self {
        self.more.place = place;
        self
    }

    /// Header fields that go with the answer.
    pub(crate) fn with(mut self, fields: impl IntoIterator<Item = (HeaderName, HeaderValue)>) -> Self {
        self.fields.extend(fields);
        self
    }

    pub(crate) const fn code(&self) -> Code {
        self.code
    }

    /// `Retry-After`, which 429 and 503 always carry: whole seconds, rounded up, at least one.
    pub(crate) fn retry_after_s(&self) -> Option<u64> {
        let always = matches!(self.code.line().0, 429 | 503);
        let wait_ms = self.more.retry_after_ms.or(always.then_some(0))?;
        Some(wait_ms.div_ceil(1000).max(1))
    }

    fn store(kind: ErrorKind, certainty: Certainty) -> Self {
        let (code, detail) = match (kind, certainty) {
            (ErrorKind::Full, _) => (Code::StoreFull, "nothing of this request was stored; send it again later"),
            (_, Certainty::NotStored) => {
                (Code::StoreUnavailable, "nothing of this request was stored; send it again later")
            }
            (_, Certainty::Unknown) => (
                Code::StoreUnavailable,
                "whether the request was stored is unknown; send it again with the same idempotency key",
            ),
        };
        let mut problem = Self::new(code, detail).retry_after(Some(Duration::from_secs(1)));
        problem.more.outcome = Some(match certainty {
            Certainty::NotStored => "not_stored",
            Certainty::Unknown => "unknown",
        });
        problem
    }
}

/// `known`: the store has told of that outage, once.
fn tell(error: &BucketError, known: bool) {
    static FAILURES: Rarely = Rarely::new();

    let error = error as &dyn Error;
    if known {
        tracing::debug!(error, "a request met a Redis that is away");
    } else if let Some(untold) = FAILURES.due(Instant::now()) {
        tracing::error!(error, untold, "Redis can't do what requests need");
    }
}

impl From<BucketError> for Problem {
    fn from(error: BucketError) -> Self {
        match &error {
            BucketError::Store(store) => {
                tell(&error, matches!(store.kind(), ErrorKind::Unreachable | ErrorKind::Timeout));
                Self::store(store.kind(), store.certainty())
            }
            BucketError::Reply { .. } => {
                tell(&error, false);
                Self::internal()
            }
            BucketError::Cursor(_) => Self::new(Code::BadQuery, format!("cursor: {error}")),
            BucketError::Unsupported(_) => Self::new(Code::Unsupported, error.to_string()),
            BucketError::Changing => Self::store(ErrorKind::Refused, Certainty::NotStored),
            BucketError::Closing => Self::draining(),
        }
    }
}

/// A problem as it is sent (RFC 9457).
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct Document<'a> {
    /// A stable reference, one for each `code`.
    #[serde(rename = "type")]
    about: String,
    title: &'static str,
    status: u16,
    detail: &'a str,
    #[schema(value_type = &'static str)]
    code: Code,
    #[serde(flatten)]
    more: &'a More,
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let document = Document {
            about: format!("/problems/{}", self.code.as_str()),
            title: self.code.title(),
            status: self.code.line().0,
            detail: &self.detail,
            code: self.code,
            more: &self.more,
        };
        document.serialize(serializer)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.code.status(), Json(&self)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after_s() {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if self.code == Code::Unauthenticated {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"dripfeed\""));
        }
        if self.code.closes() {
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        headers.extend(self.fields);
        response
    }
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

    use http_body_util::BodyExt as _;
    use serde_json::{Map, Value, json};

    use super::*;

    /// Status, fields and body as they are sent.
    async fn sent(problem: Problem) -> Value {
        let response = problem.into_response();
        let status = response.status().as_u16();
        let text = |(name, value): (&HeaderName, &HeaderValue)| (name.to_string(), value.to_str().unwrap().into());
        let headers: Map<String, Value> =
            response.headers().iter().filter(|(name, _)| *name != header::CONTENT_LENGTH).map(text).collect();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        json!({"status": status, "headers": headers, "body": serde_json::from_slice::<Value>(&body).unwrap()})
    }

    #[tokio::test]
    async fn every_code_has_its_answer() {
        let mut answers = Map::new();
        for code in Code::ALL {
            answers.insert(code.as_str().to_owned(), sent(Problem::new(code, "…")).await);
        }
        insta::assert_json_snapshot!(answers);
    }

    #[tokio::test]
    async fn every_refusal_of_a_bucket_has_its_answer() {
        let mut answers = Map::new();
        for reason in Reason::ALL {
            let retry_after = Some(Duration::from_millis(1234));
            let refused = Refused { reason, retry_after, level: 10, capacity: 10 };
            answers.insert(format!("{reason:?}"), sent(Problem::refused(&refused)).await);
        }
        insta::assert_json_snapshot!(answers);
    }

    #[tokio::test]
    async fn every_failure_of_the_store_has_its_answer() {
        let mut answers = Map::new();
        for (name, kind, certainty) in [
            ("full", ErrorKind::Full, Certainty::NotStored),
            ("refused", ErrorKind::Refused, Certainty::NotStored),
            ("timeout", ErrorKind::Timeout, Certainty::Unknown),
        ] {
            answers.insert(name.to_owned(), sent(Problem::store(kind, certainty)).await);
        }
        insta::assert_json_snapshot!(answers);
    }

    #[test]
    fn who_waits_as_told_waits_long_enough() {
        for (ms, seconds) in [(0, 1), (1, 1), (1000, 1), (1001, 2), (59_999, 60)] {
            let problem = Problem::new(Code::BucketFull, "").retry_after(Some(Duration::from_millis(ms)));
            assert_eq!(problem.retry_after_s(), Some(seconds), "{ms}");
        }
        assert_eq!(Problem::new(Code::BucketFull, "").retry_after_s(), Some(1));
        assert_eq!(Problem::new(Code::BadOption, "").retry_after_s(), None);
    }

    #[test]
    fn who_need_not_try_again_is_told() {
        let shown = |retry_after| {
            let refused = Refused { reason: Reason::DeadlineUnreachable, retry_after, level: 1, capacity: 1 };
            serde_json::to_value(Problem::refused(&refused)).unwrap()
        };
        assert_eq!(shown(None)["retryable"], false);
        assert_eq!(shown(Some(Duration::ZERO))["retryable"], Value::Null);
    }

    #[test]
    fn internal_texts_stay_inside() {
        let reply = BucketError::Reply { script: "admit", what: "secret".to_owned() };
        let shown = serde_json::to_string(&Problem::from(reply)).unwrap();
        assert!(!shown.contains("secret") && !shown.contains("admit"), "{shown}");
    }
}
