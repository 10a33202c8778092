//! Exit codes of the program.

use std::fmt;
use std::process::ExitCode;

use dripfeed_bucket::BucketError;
use dripfeed_store::{ErrorKind, InstallationError, ServerError, StoreError};

use crate::output;
use crate::settings::ConfigErrors;

/// The exit codes of failures. They are those of `sysexits.h` where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Failure = 1,
    /// The command line is invalid.
    Usage = 2,
    /// Redis or the dripfeed server doesn't respond.
    Unreachable = 69,
    /// The same command may succeed later.
    RefusedForNow = 75,
    NotAllowed = 77,
    Configuration = 78,
}

/// An error with its exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    error: anyhow::Error,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl fmt::Display + fmt::Debug + Send + Sync + 'static) -> Self {
        Self { exit, error: anyhow::Error::msg(message) }
    }

    pub(crate) fn of(exit: Exit, error: impl Into<anyhow::Error>) -> Self {
        Self { exit, error: error.into() }
    }

    /// Prints the error to standard error. Returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        output::say(format_args!("error: {self}"));
        ExitCode::from(self.exit as u8)
    }
}

impl fmt::Display for Failure {
    /// Shows the error with all its causes on one line. Some libraries repeat the text of a cause, which is shown once.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut last = self.error.to_string();
        f.write_str(&last)?;
        for cause in self.error.chain().skip(1) {
            let cause = cause.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
            if !last.ends_with(&cause) {
                write!(f, ": {cause}")?;
                last = cause;
            }
        }
        Ok(())
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self::of(Exit::Failure, error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::of(Exit::Failure, error)
    }
}

impl From<BucketError> for Failure {
    fn from(error: BucketError) -> Self {
        match error {
            BucketError::Store(error) => StoreError::clone(&error).into(),
            error => Self::of(Exit::Failure, error),
        }
    }
}

impl From<ConfigErrors> for Failure {
    fn from(errors: ConfigErrors) -> Self {
        Self::of(Exit::Configuration, errors)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = match error.kind() {
            ErrorKind::Denied | ErrorKind::CertificateRefused => Exit::NotAllowed,
            _ if error.is_transient() => Exit::Unreachable,
            _ => Exit::Failure,
        };
        Self::of(exit, error)
    }
}

impl From<InstallationError> for Failure {
    fn from(error: InstallationError) -> Self {
        match error {
            InstallationError::Store(error) => error.into(),
            InstallationError::Layout(_) | InstallationError::Salt(_) => Self::of(Exit::Configuration, error),
            InstallationError::Random(_) => Self::of(Exit::Failure, error),
        }
    }
}

impl From<ServerError> for Failure {
    fn from(error: ServerError) -> Self {
        let exit = match error {
            ServerError::NotFound => Exit::Unreachable,
            _ => Exit::Failure,
        };
        Self::of(exit, error)
    }
}
