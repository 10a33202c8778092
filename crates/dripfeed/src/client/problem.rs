//! Errors of requests, and their exit codes.

use std::fmt;
use std::time::Duration;

use http::StatusCode;
use hyper_util::client::legacy;
use serde_json::Value as Json;
use thiserror::Error;

use crate::exit::{Exit, Failure};

#[derive(Debug, Error)]
pub(crate) enum RequestError {
    #[error("can't connect to {server}: is the intake running? (--server, DRIPFEED_SERVER)")]
    Unreachable { server: String, source: Box<legacy::Error> },
    #[error("the response was cut off")]
    Cut(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("no answer within {0:?}")]
    Silent(Duration),
    #[error("unexpected response; does --server point to a dripfeed intake?")]
    Unreadable(#[source] serde_json::Error),
    #[error("an event of more than {0} bytes; does --server point to a dripfeed intake?")]
    TooLarge(usize),
    #[error("invalid server URL")]
    Address(#[source] http::uri::InvalidUri),
    #[error("{0}")]
    Refused(Box<Problem>),
}

/// A refusal, as RFC 9457 writes it.
#[derive(Clone, Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) code: String,
    /// When to retry: exact where the problem has it, else by `Retry-After`.
    pub(crate) retry_after: Option<Duration>,
    /// As it came.
    pub(crate) document: Json,
}

impl Problem {
    /// Reads a refusal; also one of a proxy before the server.
    pub(crate) fn of(status: StatusCode, retry_after: Option<Duration>, body: &[u8]) -> Self {
        let document: Json = serde_json::from_slice(body).unwrap_or_default();
        Self { retry_after: exact_wait(&document).or(retry_after), ..Self::of_document(status, document) }
    }

    pub(crate) fn of_document(status: StatusCode, document: Json) -> Self {
        let code = document["code"].as_str().unwrap_or_default().to_owned();
        Self { status, code, retry_after: exact_wait(&document), document }
    }

    /// Whether the same request may succeed a little later.
    pub(crate) fn is_for_now(&self) -> bool {
        matches!(self.status.as_u16(), 429 | 502..=504 | 507) && self.document["retryable"] != Json::Bool(false)
    }

    fn exit(&self) -> Exit {
        match self.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Exit::NotAllowed,
            _ if self.is_for_now() => Exit::RefusedForNow,
            _ => Exit::Failure,
        }
    }
}

fn exact_wait(document: &Json) -> Option<Duration> {
    document["retry_after_ms"].as_u64().map(Duration::from_millis)
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |member: &str| self.document[member].as_str().unwrap_or_default();
        match (text("title"), text("detail")) {
            ("", _) => write!(f, "the server answered {}", self.status)?,
            (title, "") => write!(f, "{title} ({})", self.code)?,
            (title, detail) => write!(f, "{title}: {detail} ({})", self.code)?,
        }
        match self.retry_after {
            Some(wait) => write!(f, "; retry in {}", dripfeed_job::duration::show(wait)),
            None => Ok(()),
        }
    }
}

impl RequestError {
    pub(super) fn cut(error: hyper::Error) -> Self {
        Self::Cut(Box::new(error))
    }

    /// Whether to retry: there was no answer, or a temporary refusal.
    pub(crate) fn is_for_now(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Cut(_) | Self::Silent(_) => true,
            Self::Refused(problem) => problem.is_for_now(),
            Self::Unreadable(_) | Self::TooLarge(_) | Self::Address(_) => false,
        }
    }
}

impl From<Problem> for RequestError {
    fn from(problem: Problem) -> Self {
        Self::Refused(Box::new(problem))
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        let exit = match &error {
            RequestError::Unreachable { .. } | RequestError::Cut(_) | RequestError::Silent(_) => Exit::Unreachable,
            RequestError::Refused(problem) => problem.exit(),
            RequestError::Address(_) => Exit::Usage,
            RequestError::Unreadable(_) | RequestError::TooLarge(_) => Exit::Failure,
        };
        Self::of(exit, error)
    }
}
