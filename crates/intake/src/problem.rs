//! Refusals and errors as RFC 9457 problems. All refusals of the API are created here.
//!
//! **Architecture invariant:** a problem contains what its caller can act on, and no internal details; these go to the
//! log.

mod bucket;
mod code;
mod definitions;
mod keys;
mod members;
mod services;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use dripfeed_http::{Health, NotReady};
use dripfeed_job::duration::ms_up;
use dripfeed_limit::BadServiceName;
use http::{HeaderName, HeaderValue, StatusCode, header};
use serde::{Serialize, Serializer};
use tokio::task::JoinError;
use utoipa::ToSchema;

pub(crate) use self::code::Code;
pub(crate) use self::members::{BadOption, FaultPlace};
use self::members::{LONGEST_TEXT, ProblemMembers, shortened};

/// Enough for most problems as JSON without reallocation.
const USUAL_BYTES: usize = 384;

/// A refusal or an error, as shown to the caller.
#[derive(Clone, Debug)]
pub struct Problem {
    code: Code,
    detail: Cow<'static, str>,
    more: Box<ProblemMembers>,
    fields: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    pub(crate) fn new(code: Code, detail: impl Into<Cow<'static, str>>) -> Self {
        let detail = match detail.into() {
            Cow::Owned(detail) => Cow::Owned(shortened(detail, LONGEST_TEXT)),
            ours @ Cow::Borrowed(_) => ours,
        };
        Self { code, detail, more: Box::default(), fields: Vec::new() }
    }

    /// An invalid member of a body, with its path.
    pub(crate) fn bad_member(member: &str, reason: &str) -> Self {
        let place = FaultPlace { member: Some(member.to_owned()), ..FaultPlace::default() };
        Self::new(Code::BadMember, reason.to_owned()).at(place)
    }

    pub(crate) fn unauthenticated() -> Self {
        Self::new(Code::Unauthenticated, "send a valid key as `Authorization: Bearer …` or `Dripfeed-Key: …`")
    }

    pub(crate) fn unknown_bucket() -> Self {
        Self::new(Code::UnknownBucket, "no bucket with this name is configured; GET /v1/buckets lists the buckets")
    }

    pub(crate) fn unknown_job() -> Self {
        Self::new(Code::UnknownJob, "the bucket has no job with this id, and no outcome of one")
    }

    pub(crate) fn unknown_dead_letter() -> Self {
        Self::new(Code::UnknownJob, "the bucket has no dead letter with this id")
    }

    pub(crate) fn unknown_replay() -> Self {
        Self::new(Code::UnknownReplay, "the bucket has no replay with this id; it keeps the latest ten")
    }

    pub(crate) fn unknown_schedule() -> Self {
        let detail = "the bucket has no schedule with this id; an id has 1 to 64 of a-z A-Z 0-9 _ - .";
        Self::new(Code::UnknownSchedule, detail)
    }

    pub(crate) fn unknown_service() -> Self {
        Self::new(Code::UnknownService, "no service with this name is registered; PUT its rules first")
    }

    /// A name that no service can have.
    pub(crate) fn impossible_service(error: &BadServiceName) -> Self {
        Self::new(Code::UnknownService, error.to_string())
    }

    pub(crate) fn draining() -> Self {
        Self::new(Code::Draining, "the request was not stored; retry, another intake will answer")
            .retry_after(Some(Duration::from_secs(1)))
    }

    /// A bug, such as a panic. The cause goes to the log only.
    pub(crate) fn internal() -> Self {
        Self::new(Code::Internal, "internal error; see the intake's log")
    }

    /// Invalid options. An invalid idempotency key makes the request a malformed one, whatever else is invalid.
    pub(crate) fn bad_options(options: Vec<BadOption>) -> Self {
        let is_key = |option: &BadOption| matches!(option.name.as_str(), "idempotency-key" | "idempotency_key");
        let code = if options.iter().any(is_key) { Code::BadIdempotencyKey } else { Code::BadOption };
        let detail = options.iter().map(BadOption::to_string).collect::<Vec<_>>().join("; ");
        let mut problem = Self::new(code, detail);
        problem.more.options = options;
        problem
    }

    /// Names the violated limits, with the message of one of them.
    pub(crate) fn violating(mut self, policies: Vec<String>, message: Option<String>) -> Self {
        self.more.violated_policies = policies;
        self.detail = message.map_or(self.detail, Cow::Owned);
        self
    }

    pub(crate) fn retry_after(mut self, wait: Option<Duration>) -> Self {
        self.more.retry_after_ms = wait.map(ms_up);
        self
    }

    /// The same problem, of a job that is a member of a body.
    pub(crate) fn in_member(mut self, member: &str) -> Self {
        if self.code == Code::BadItem {
            self.code = Code::BadMember;
        }
        let inner = self.more.place.member.take().map(|inner| format!(".{inner}")).unwrap_or_default();
        self.at(FaultPlace { member: Some(format!("{member}{inner}")), ..FaultPlace::default() })
    }

    pub(crate) fn at(mut self, place: FaultPlace) -> Self {
        self.more.place = place;
        self
    }

    /// The same problem, of a read: without statements about what was stored.
    pub(crate) fn of_read(mut self) -> Self {
        if self.more.outcome.take().is_some() {
            let usual = "Redis can't be queried; retry later";
            self.detail = Cow::Borrowed(self.more.detail_of_read.unwrap_or(usual));
        }
        self
    }

    /// Converts the problem in a response to a read with [`Self::of_read`], as a problem doesn't know its request.
    pub(crate) fn response_to_read(mut response: Response) -> Response {
        match response.extensions_mut().remove::<Self>() {
            Some(problem) => problem.of_read().into_response(),
            None => response,
        }
    }

    /// Adds header fields to the response.
    pub(crate) fn with(mut self, fields: impl IntoIterator<Item = (HeaderName, HeaderValue)>) -> Self {
        self.fields.extend(fields);
        self
    }

    /// Whether the request may have been done nevertheless, because Redis didn't say.
    pub(crate) fn may_be_done(&self) -> bool {
        self.more.outcome == Some("unknown")
    }

    pub(crate) const fn code(&self) -> Code {
        self.code
    }

    /// The value of `Retry-After`, in seconds: rounded up, at least one. 429 and 503 have it unless a retry can't
    /// succeed.
    pub(crate) fn retry_after_s(&self) -> Option<u64> {
        let always = matches!(self.code.line().0, 429 | 503) && self.more.retryable != Some(false);
        let wait_ms = self.more.retry_after_ms.or(always.then_some(0))?;
        Some(wait_ms.div_ceil(1000).max(1))
    }
}

impl From<NotReady> for Problem {
    fn from(why: NotReady) -> Self {
        let unavailable = |detail| Self::new(Code::StoreUnavailable, detail).retry_after(Some(Health::CHECK_INTERVAL));
        match why {
            NotReady::Draining => Self::draining(),
            NotReady::RedisUnavailable => unavailable("Redis doesn't answer"),
            NotReady::RedisRefusesWrites => unavailable(
                "Redis answers, but refuses writes: it is a replica, has fewer than min-replicas-to-write, can't write \
                 to its disk, or is a Redis Cluster that is down",
            ),
            NotReady::RedisDeniesAccess => {
                unavailable("Redis denies access; check the user and password in redis.url, and the ACL")
            }
        }
    }
}

/// A problem document (RFC 9457).
#[derive(Serialize, ToSchema)]
#[schema(as = Problem)]
pub(crate) struct ProblemDocument<'a> {
    /// A stable URI for each `code`.
    #[serde(rename = "type")]
    about: String,
    title: &'static str,
    status: u16,
    detail: &'a str,
    #[schema(value_type = &'static str)]
    code: Code,
    #[serde(flatten)]
    more: &'a ProblemMembers,
}

impl Serialize for Problem {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let document = ProblemDocument {
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

impl From<JoinError> for Problem {
    /// The problem of a task that panicked, which the panic hook has logged.
    fn from(_: JoinError) -> Self {
        Self::internal()
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut text = Vec::with_capacity(USUAL_BYTES);
        if serde_json::to_writer(&mut text, &self).is_err() {
            // Can't fail, because it has only strings and numbers.
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        }
        let mut response = Response::new(Body::from(text));
        *response.status_mut() = self.code.status();
        if self.more.outcome.is_some() {
            response.extensions_mut().insert(self.clone());
        }
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
