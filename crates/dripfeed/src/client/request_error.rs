//! Errors of requests as messages of the command line, with their exit codes.

use std::error::Error;
use std::fmt;

use dripfeed_client::{BadOption, BuildError, ClientError, Problem};
use http::StatusCode;

use crate::exit::{Exit, Failure};

#[derive(Debug)]
pub(crate) enum RequestError {
    Failed(ClientError),
    /// An event of more bytes than that.
    TooLarge(usize),
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed(error @ ClientError::Unreachable { .. }) => write!(f, "{error} (--server, DRIPFEED_SERVER)"),
            Self::Failed(ClientError::Unexpected(_)) => {
                f.write_str("unexpected response; does --server point to a dripfeed intake?")
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
            RequestError::Failed(ClientError::Unreachable { .. } | ClientError::Cut(_) | ClientError::Silent(_)) => {
                Exit::Unreachable
            }
            RequestError::Failed(_) | RequestError::TooLarge(_) => Exit::Failure,
        };
        Self::of(exit, error)
    }
}

fn exit_of(problem: &Problem) -> Exit {
    match problem.status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Exit::NotAllowed,
        // Redis, as the intake sees it.
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

/// `certificates`: the file that they are in.
pub(super) fn unusable(error: &BuildError, certificates: &str) -> Failure {
    match error {
        BuildError::Server(_) | BuildError::Login => Failure::new(Exit::Usage, error.to_string()),
        BuildError::Key => Failure::new(Exit::Configuration, format!("{error}: check --key-file or DRIPFEED_KEY")),
        BuildError::Certificates(_) => {
            Failure::new(Exit::Configuration, format!("no certificates in {certificates}: {error}"))
        }
        _ => Failure::new(Exit::Failure, error.to_string()),
    }
}
