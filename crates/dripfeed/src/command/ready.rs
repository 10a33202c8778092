//! `dripfeed ready [URL]`: a health check for containers without a shell.

use std::ffi::OsString;
use std::time::Duration;

use bytes::Bytes;
use clap::{Args, ValueHint};
use dripfeed_client::{BuildError, Client, ClientError};
use http::{HeaderMap, Method};

use crate::client::{ca_file, read_certificates};
use crate::exit::{Exit, Failure};

/// A process that responds later isn't usable.
const TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// URL of the intake or processor; its /readyz needs no key
    #[arg(value_name = "URL", default_value = "http://127.0.0.1:7180")]
    server: String,
    /// PEM file with the certificate authorities to trust, not the public ones
    #[arg(long, value_name = "FILE", env = "DRIPFEED_CA", hide_env_values = true)]
    #[arg(value_hint = ValueHint::FilePath)]
    ca: Option<OsString>,
}

/// The exit code of any failure of the process is 1, because container runtimes know no other for health checks.
pub(super) async fn run(Arguments { server, ca }: &Arguments) -> Result<(), Failure> {
    let mut client = Client::builder(server);
    if let Some(file) = ca.as_deref().and_then(ca_file) {
        client = client.certificates(read_certificates(file)?);
    }
    let client = client.build().map_err(unusable)?;
    let asked = client.call(Method::GET, "/readyz", HeaderMap::new(), Bytes::new());
    let answer = tokio::time::timeout(TIMEOUT, asked).await.unwrap_or(Err(ClientError::Silent(TIMEOUT)));
    answer.map(|_| ()).map_err(|error| Failure::of(Exit::Failure, error))
}

fn unusable(error: BuildError) -> Failure {
    let exit =
        if matches!(error, BuildError::Server(_) | BuildError::Login) { Exit::Usage } else { Exit::Configuration };
    Failure::of(exit, error)
}
