//! One call: sends a request, reads the answer within limits, and returns the result.

pub(crate) mod request;

use std::error::Error;
use std::io;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use dripfeed_job::outcome::AnswerBody;
use dripfeed_job::{UpstreamAnswer, duration, rate_limit, retry_after};
use dripfeed_outbound::{HttpClient, MOST_BEFORE_BODY, RequestError, ResponseTooLarge};
use futures::FutureExt as _;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE};
use http::response::Parts;
use http::{HeaderMap, HeaderName, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use thiserror::Error;
use tokio::time::timeout;
use tower::timeout::error::Elapsed;

use crate::local_shortage::LocalShortage;
use crate::upstream::root_certs;

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const NO_RETRY: HeaderName = HeaderName::from_static("dripfeed-no-retry");

/// Maximum bytes of an error message, which outcomes store: an error about a certificate lists all of its names.
const MAX_MESSAGE_BYTES: usize = 240;

#[derive(Clone, Copy, Debug)]
pub(crate) struct CallBounds {
    /// From connecting to the last byte of the answer.
    pub(crate) timeout: Duration,
    /// Maximum bytes read of the answer's body.
    pub(crate) read_bytes: u64,
    /// Maximum bytes of it in the result.
    pub(crate) kept_bytes: u64,
}

#[derive(Debug)]
pub(crate) struct CallResult {
    pub(crate) answer: UpstreamAnswer,
    /// `None` if the answer had no body.
    pub(crate) body: Option<AnswerBody>,
    /// The label `class` of metrics.
    pub(crate) class: &'static str,
}

/// Sends the request and waits for the complete answer.
///
/// # Errors
/// When a shortage of this machine prevented the call: then nothing was sent.
pub(crate) fn call(
    client: &HttpClient,
    request: Request<Full<Bytes>>,
    bounds: CallBounds,
) -> impl Future<Output = Result<CallResult, LocalShortage>> + Send {
    // On timeout, dropping the exchange closes its connection, also if the upstream still sends.
    timeout(bounds.timeout, exchange(client, request, bounds)).map(move |result| match result {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(NoAnswer::Unmade(shortage))) => Err(shortage),
        Ok(Err(reason)) => Ok(CallResult::unanswered(&reason)),
        Err(_) => Ok(CallResult::unanswered(&NoAnswer::Late(bounds.timeout))),
    })
}

async fn exchange(
    client: &HttpClient,
    request: Request<Full<Bytes>>,
    bounds: CallBounds,
) -> Result<CallResult, NoAnswer> {
    let (response, connection) = client.request(request).await?;
    connection.bound_body(bounds.read_bytes);
    let (head, body) = response.into_parts();
    let (body, is_complete) = read(body, bounds).await?;
    if is_complete {
        connection.keep();
    }
    Ok(CallResult::answered(&head, &body))
}

/// The beginning of a body, up to `CallBounds::kept_bytes`.
struct ReadBody {
    kept: Vec<u8>,
    truncated: bool,
}

/// Reads the body up to `bounds`. Returns also whether it was read to its end: only then the connection can be reused.
async fn read(mut body: Incoming, bounds: CallBounds) -> Result<(ReadBody, bool), hyper::Error> {
    let most_kept = usize::try_from(bounds.kept_bytes.min(bounds.read_bytes)).unwrap_or(usize::MAX);
    let mut kept = Vec::new();
    let mut read = 0;
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame?.into_data() else { continue };
        let room = most_kept - kept.len();
        kept.extend_from_slice(&data[..room.min(data.len())]);
        read += data.len() as u64;
        if read > bounds.read_bytes {
            return Ok((ReadBody { kept, truncated: true }, false));
        }
    }
    let truncated = read > kept.len() as u64;
    Ok((ReadBody { kept, truncated }, true))
}

impl CallResult {
    fn answered(head: &Parts, body: &ReadBody) -> Self {
        let status = head.status.as_u16();
        let answer = UpstreamAnswer::Status {
            status,
            retry_after: retry_after::of_headers(&head.headers, SystemTime::now()),
            exhausted_for: exhausted_for(&head.headers),
            no_retry: head.headers.get(NO_RETRY).is_some_and(|value| value == "1"),
        };
        let text = |name| head.headers.get(name).and_then(|value| value.to_str().ok());
        let has_body = !body.kept.is_empty() || body.truncated;
        let body = has_body.then(|| {
            let content_type = text(CONTENT_TYPE).map(str::to_owned);
            AnswerBody::new(content_type, &body.kept, body.truncated).encoded(text(CONTENT_ENCODING))
        });
        Self { answer, body, class: class_of(status) }
    }

    fn unanswered(reason: &NoAnswer) -> Self {
        let answer = UpstreamAnswer::Nothing { why: reason.to_string(), timed_out: reason.is_timeout() };
        Self { answer, body: None, class: reason.class() }
    }

    /// A panic of this processor during the attempt. Counted as a failed attempt, so that it isn't repeated forever.
    pub(crate) fn panicked() -> Self {
        let why = "the processor panicked during the attempt; this is a bug, please report it".to_owned();
        Self { answer: UpstreamAnswer::Nothing { why, timed_out: false }, body: None, class: "panic" }
    }
}

/// Several header lines of the same name are one list.
fn exhausted_for(headers: &HeaderMap) -> Option<Duration> {
    let lines: Vec<&str> = headers.get_all(RATE_LIMIT).iter().filter_map(|line| line.to_str().ok()).collect();
    if lines.is_empty() { None } else { rate_limit::exhausted_for(&lines.join(", ")) }
}

/// All values of `CallResult::class`.
pub(crate) const CLASSES: [&str; 12] =
    ["1xx", "2xx", "3xx", "429", "4xx", "5xx", "other", "timeout", "connect", "cut", "garbled", "panic"];

const fn class_of(status: u16) -> &'static str {
    match status {
        100..=199 => "1xx",
        200..=299 => "2xx",
        300..=399 => "3xx",
        429 => "429",
        400..=499 => "4xx",
        500..=599 => "5xx",
        _ => "other",
    }
}

/// Why there is no complete answer.
#[derive(Debug, Error)]
enum NoAnswer {
    #[error("no complete answer within {}", duration::show(*.0))]
    Late(Duration),
    #[error("can't connect to the upstream: timeout")]
    Unconnected,
    #[error("can't connect to the upstream: {0}")]
    Unreached(String),
    #[error(transparent)]
    Unmade(LocalShortage),
    #[error("the answer was cut off: {0}")]
    Cut(String),
    #[error(
        "the upstream closed the connection, or sent something, before the request was sent; is it an HTTP/1.1 server?"
    )]
    Unsent,
    #[error("malformed HTTP response: {0}")]
    Garbled(String),
    #[error(
        "the upstream sent more than {} KiB before its answer, such as endless 1xx answers", MOST_BEFORE_BODY / 1024
    )]
    Endless,
}

impl NoAnswer {
    const fn class(&self) -> &'static str {
        match self {
            Self::Late(_) => "timeout",
            Self::Unconnected | Self::Unreached(_) | Self::Unmade(_) => "connect",
            Self::Cut(_) | Self::Unsent => "cut",
            Self::Garbled(_) | Self::Endless => "garbled",
        }
    }

    const fn is_timeout(&self) -> bool {
        matches!(self, Self::Late(_) | Self::Unconnected)
    }
}

impl From<RequestError> for NoAnswer {
    fn from(error: RequestError) -> Self {
        let why = message_of(&error);
        match error {
            RequestError::Unconnected(_) if causes(&error).any(is_timeout) => Self::Unconnected,
            RequestError::Unconnected(_) => match LocalShortage::behind(&error) {
                Some(shortage) => Self::Unmade(shortage),
                None => Self::Unreached(root_certs::explained(&error, why)),
            },
            RequestError::Unanswered(error) if error.is_parse() => Self::Garbled(error.to_string()),
            RequestError::Unanswered(error) if error.is_canceled() => Self::Unsent,
            RequestError::Unanswered(error) if ResponseTooLarge::caused(&error) => Self::Endless,
            RequestError::Unanswered(_) => Self::Cut(why),
        }
    }
}

impl From<hyper::Error> for NoAnswer {
    fn from(error: hyper::Error) -> Self {
        // Only the innermost cause says what happened.
        Self::Cut(causes(&error).last().map_or_else(|| error.to_string(), ToString::to_string))
    }
}

fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(error.source(), |&cause: &&'a (dyn Error + 'static)| cause.source())
}

/// Whether `connect_timeout` has passed, for all addresses or for one. A timeout of the system has an OS error.
fn is_timeout(cause: &(dyn Error + 'static)) -> bool {
    let of_address = |io: &io::Error| io.kind() == io::ErrorKind::TimedOut && io.raw_os_error().is_none();
    cause.is::<Elapsed>() || cause.downcast_ref().is_some_and(of_address)
}

/// The messages of the causes. That of `error` itself says only at which step the request failed.
fn message_of(error: &RequestError) -> String {
    let mut messages: Vec<String> = causes(error).map(ToString::to_string).collect();
    messages.dedup();
    let mut message = messages.join(": ");
    if message.len() > MAX_MESSAGE_BYTES {
        message.truncate(message.floor_char_boundary(MAX_MESSAGE_BYTES));
        message.push('…');
    }
    message
}

#[cfg(test)]
mod tests;
