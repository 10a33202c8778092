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

/// The environment variable with the API key.
const KEY: &str = "DRIPFEED_KEY";

/// Puts these options after those of the command in the help.
const LAST: usize = 800;

/// Global, so that they may precede or follow a subcommand.
#[derive(Args, Debug)]
pub(crate) struct ConnectionArgs {
    /// URL of the intake
    // Not parsed by clap, whose error would show the password that it may contain.
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

    /// Returns whether `--output` is given, which some commands refuse.
    pub(crate) const fn has_output(&self) -> bool {
        self.output.is_some()
    }

    /// Returns a client without retries: the user at the terminal decides.
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

/// Returns the file of `--ca` or `DRIPFEED_CA`, or `None` if it is empty.
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
