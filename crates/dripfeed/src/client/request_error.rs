//! Errors of requests as messages of the command line, with their exit codes.

use std::error::Error;
use std::fmt;

use dripfeed_client::{BadOption, BuildError, ClientError, Problem};
use http::StatusCode;

use crate::exit::{Exit, Failure};

#[derive(Debug)]
pub(crate) enum RequestError {
    Failed(ClientError),
    /// An event of more than this many bytes.
    TooLarge(usize),
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(
                error @ (ClientError::Unreachable { .. } | ClientError::Redirected { .. } | ClientError::NotHttp(_)),
            ) => write!(f, "{error} (--server, DRIPFEED_SERVER)"),
            Self::Failed(error @ ClientError::Tls { .. }) => write!(f, "{error} (--server, --ca)"),
            Self::Failed(ClientError::Unexpected(_)) => {
                f.write_str("unexpected response; does --server point to a dripfeed intake?")
            }
            Self::Failed(ClientError::Refused(problem)) if problem.status == StatusCode::UNAUTHORIZED => {
                write!(f, "{problem}; --key-file or DRIPFEED_KEY has the key")
            }
            Self::Failed(ClientError::Refused(problem))
                if problem.code.is_empty() && problem.status.is_client_error() =>
            {
                write!(f, "{problem}; does --server point to a dripfeed intake?")
            }
            Self::Failed(error) => fmt::Display::fmt(error, f),
            Self::TooLarge(most) => {
                write!(f, "an event of more than {most} bytes; does --server point to a dripfeed intake?")
            }
        }
    }
}

impl Error for RequestError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        if let Self::Failed(error) = self { error.source() } else { None }
    }
}

impl From<ClientError> for RequestError {
    fn from(error: ClientError) -> Self {
        Self::Failed(error)
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        let exit = match &error {
            RequestError::Failed(ClientError::Refused(problem)) => exit_of(problem),
            RequestError::Failed(ClientError::Path(_) | ClientError::Option(_)) => Exit::Usage,
            RequestError::Failed(
                ClientError::Unreachable { .. }
                | ClientError::Tls { .. }
                | ClientError::NotHttp(_)
                | ClientError::Cut(_)
                | ClientError::Silent(_),
            ) => Exit::Unreachable,
            RequestError::Failed(_) | RequestError::TooLarge(_) => Exit::Failure,
        };
        Self::of(exit, error)
    }
}

fn exit_of(problem: &Problem) -> Exit {
    match problem.status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Exit::NotAllowed,
        // The intake can't reach Redis.
        _ if problem.code == "store_unavailable" => Exit::Unreachable,
        _ if problem.is_retryable() => Exit::RefusedForNow,
        _ => Exit::Failure,
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        RequestError::from(error).into()
    }
}

impl From<BadOption> for Failure {
    fn from(error: BadOption) -> Self {
        ClientError::from(error).into()
    }
}

/// `certificates`: the file with the certificates.
pub(super) fn unusable(error: &BuildError, certificates: &str) -> Failure {
    match error {
        BuildError::Server(_) | BuildError::Login => {
            Failure::new(Exit::Usage, format!("{error} (--server, DRIPFEED_SERVER)"))
        }
        BuildError::Key => Failure::new(Exit::Configuration, format!("{error}: check --key-file or DRIPFEED_KEY")),
        BuildError::Certificates(_) => {
            Failure::new(Exit::Configuration, format!("no certificates in {certificates}: {error}"))
        }
        _ => Failure::new(Exit::Failure, error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value as Json;

    use super::*;

    #[test]
    fn a_refusal_that_is_not_of_an_intake_asks_for_the_server() {
        for (status, code, asks) in [
            (StatusCode::NOT_FOUND, "", true),
            (StatusCode::BAD_GATEWAY, "", false),
            (StatusCode::NOT_FOUND, "x", false),
        ] {
            let problem = Problem { status, code: code.to_owned(), retry_after: None, document: Json::Null };
            let shown = RequestError::from(ClientError::Refused(Box::new(problem))).to_string();
            assert_eq!(shown.contains("--server"), asks, "{shown}");
        }
    }
}
