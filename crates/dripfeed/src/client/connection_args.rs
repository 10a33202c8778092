//! Connection and output options of the operator's commands.

use std::env::VarError;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use dripfeed_client::{Client, Retries};
use secrecy::{ExposeSecret as _, SecretString};

use super::request_error::unusable;
use crate::exit::{Exit, Failure};
use crate::output::Format;
use crate::settings::read_secret;

/// Environment variable with the key.
const KEY: &str = "DRIPFEED_KEY";

/// In the help, behind the options of the command.
const LAST: usize = 800;

/// They may stand before and after a command within a command.
#[derive(Args, Debug)]
pub(crate) struct ConnectionArgs {
    /// URL of the intake
    // Read later: an error of an argument would show it, with the password that it may have.
    #[arg(long, global = true, value_name = "URL", env = "DRIPFEED_SERVER", default_value = "http://127.0.0.1:7180")]
    #[arg(hide_env_values = true, display_order = LAST)]
    server: OsString,
    /// File with the API key [default: the environment variable DRIPFEED_KEY]
    #[arg(long, global = true, value_name = "FILE", display_order = LAST + 1)]
    key_file: Option<PathBuf>,
    /// PEM file with the certificate authorities to trust instead of the public ones
    #[arg(long, global = true, value_name = "FILE", env = "DRIPFEED_CA", hide_env_values = true)]
    #[arg(value_hint = ValueHint::FilePath, display_order = LAST + 2)]
    ca: Option<OsString>,
    /// Output format [default: table]
    #[arg(short, long, global = true, value_name = "FORMAT", value_enum, display_order = LAST + 3)]
    output: Option<Format>,
}

impl ConnectionArgs {
    pub(crate) fn output(&self) -> Format {
        self.output.unwrap_or(Format::Table)
    }

    /// Whether `--output` was given, which some commands have no use for.
    pub(crate) const fn has_output(&self) -> bool {
        self.output.is_some()
    }

    /// One that calls once: a person at a terminal sees what came of it.
    ///
    /// # Errors
    /// When the server's address or the key can't be used.
    pub(crate) fn server(&self) -> Result<Client, Failure> {
        let agent = concat!("dripfeed/", env!("CARGO_PKG_VERSION"));
        let not_text = || Failure::new(Exit::Usage, "--server (DRIPFEED_SERVER) isn't UTF-8");
        let mut client =
            Client::builder(self.server.to_str().ok_or_else(not_text)?).user_agent(agent).retries(Retries::NONE);
        if let Some(key) = self.key()? {
            client = client.key(key.expose_secret());
        }
        let ca = self.ca.as_deref().and_then(ca_file);
        if let Some(file) = ca {
            client = client.certificates(read_certificates(file)?);
        }
        let file = ca.unwrap_or(Path::new("")).display().to_string();
        client.build().map_err(|error| unusable(&error, &file))
    }

    fn key(&self) -> Result<Option<SecretString>, Failure> {
        match &self.key_file {
            Some(file) => read_secret(file).map(Some).map_err(|message| Failure::new(Exit::Configuration, message)),
            None => match std::env::var(KEY) {
                Ok(key) => Ok(Some(key).filter(|key| !key.is_empty()).map(SecretString::from)),
                Err(VarError::NotPresent) => Ok(None),
                Err(VarError::NotUnicode(_)) => {
                    Err(Failure::new(Exit::Configuration, format!("the environment variable {KEY} isn't UTF-8")))
                }
            },
        }
    }
}

/// The file that `--ca` or DRIPFEED_CA names. A variable that is empty names none, as one that isn't set.
pub(crate) fn ca_file(ca: &OsStr) -> Option<&Path> {
    Some(Path::new(ca)).filter(|_| !ca.is_empty())
}

/// # Errors
/// When the file can't be read.
pub(crate) fn read_certificates(file: &Path) -> Result<Vec<u8>, Failure> {
    let unreadable =
        |error| Failure::new(Exit::Configuration, format!("no certificates in {}: {error}", file.display()));
    std::fs::read(file).map_err(unreadable)
}
