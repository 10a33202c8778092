//! Errors of a call, and whether a retry can help.

mod tls;

use std::error::Error as StdError;
use std::time::Duration;

use dripfeed_job::duration;
use http::StatusCode;
use thiserror::Error;

use self::tls::remedy;
pub(crate) use self::tls::tls_error;
use crate::bad_option::BadOption;
use crate::problem::Problem;

/// The error of a call. It is `Send + Sync + 'static`, so it fits the `BoxError` of a `tower` service, and knows
/// whether and when a retry can succeed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ClientError {
    #[error("can't connect to {server}: is the intake running?")]
    Unreachable { server: String, source: Box<dyn StdError + Send + Sync> },
    /// The certificate isn't trusted, or the server doesn't use TLS. A retry doesn't help.
    #[error("no TLS with {server}: {}", remedy(.source))]
    Tls { server: String, source: Box<rustls::Error> },
    /// The connection ended before a whole HTTP response came.
    #[error("no complete response")]
    Cut(#[source] Box<dyn StdError + Send + Sync>),
    #[error("the answer isn't HTTP: is it a dripfeed intake, and does its URL begin with https:// if it uses TLS?")]
    NotHttp(#[source] Box<dyn StdError + Send + Sync>),
    #[error("no answer within {}", about(*.0))]
    Silent(Duration),
    #[error("unexpected response: is it a dripfeed intake?")]
    Unexpected(#[source] serde_json::Error),
    #[error("the response has more than {} MiB: is it a dripfeed intake?", .0 >> 20)]
    TooLarge(usize),
    #[error("the path can't be part of a URL")]
    Path(#[source] http::uri::InvalidUri),
    #[error(transparent)]
    Option(#[from] BadOption),
    /// Redirects aren't followed, because the call might be made twice, or the key sent to another server.
    #[error("the server answered {status} and redirects to {location}: redirects are not followed")]
    Redirected { status: StatusCode, location: String },
    #[error("{0}")]
    Refused(Box<Problem>),
    /// [`BatchSender::stop`](crate::BatchSender::stop) was called.
    #[error("stopped before all jobs were sent")]
    Stopped,
}

impl ClientError {
    /// Returns whether the same call may succeed later: it was refused for now, or got no answer. In the second case it
    /// may have been executed, which is harmless for a job with an idempotency key.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Refused(problem) => problem.is_retryable(),
            _ => !self.is_answered(),
        }
    }

    /// Returns how long to wait before the next try, if the intake says so.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.problem()?.retry_after
    }

    /// Returns the problem document, if the intake refused the call.
    #[must_use]
    pub fn problem(&self) -> Option<&Problem> {
        if let Self::Refused(problem) = self { Some(problem) } else { None }
    }

    /// Returns whether the intake, or a proxy in front of it, returned a complete response.
    pub(crate) const fn is_answered(&self) -> bool {
        !matches!(self, Self::Unreachable { .. } | Self::Cut(_) | Self::Silent(_))
    }

    /// Returns whether the call was certainly not executed. If this is false, a repeated call may be executed twice: a
    /// client without retries sends jobs without an idempotency key.
    #[must_use]
    pub fn was_not_executed(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Tls { .. } | Self::Path(_) | Self::Option(_) | Self::Redirected { .. } => {
                true
            }
            Self::Refused(problem) => problem.was_not_executed(),
            _ => false,
        }
    }
}

/// Rounds the timeout of a try, which is the rest of the time for all tries, to a readable number.
fn about(time: Duration) -> String {
    let ms = u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    duration::show(Duration::from_millis(if ms < 1000 { ms } else { ms.saturating_add(50) / 100 * 100 }))
}

impl From<Problem> for ClientError {
    fn from(problem: Problem) -> Self {
        Self::Refused(Box::new(problem))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_error_converts_to_the_box_error_of_tower() {
        fn boxed<E: Into<Box<dyn StdError + Send + Sync + 'static>>>(error: E) -> String {
            error.into().to_string()
        }
        assert_eq!(boxed(ClientError::Silent(Duration::from_secs(1))), "no answer within 1s");
        for (nanos, shown) in [(89_999_998_147, "1m 30s"), (1_250_000_001, "1s 300ms"), (14_900_000, "14ms"), (0, "0s")]
        {
            let silent = ClientError::Silent(Duration::from_nanos(nanos));
            assert_eq!(silent.to_string(), format!("no answer within {shown}"));
        }
    }
}
