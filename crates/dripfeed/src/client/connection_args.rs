//! Connection and output options of the operator's commands.

use std::fmt::Display;
use std::path::{Path, PathBuf};

use clap::Args;
use http::{HeaderValue, Uri};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use secrecy::{ExposeSecret as _, SecretString};

use super::server::Server;
use crate::exit::{Exit, Failure};
use crate::output::Format;
use crate::settings::read_secret;

/// Environment variable with the key.
const KEY: &str = "DRIPFEED_KEY";

#[derive(Args, Debug)]
pub(crate) struct ConnectionArgs {
    /// URL of the intake
    #[arg(long, value_name = "URL", env = "DRIPFEED_SERVER", default_value = "http://127.0.0.1:7180")]
    server: Uri,
    /// File with the key [default: the environment variable DRIPFEED_KEY]
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// PEM file with the certificate authorities to trust instead of the public ones
    #[arg(long, value_name = "FILE", env = "DRIPFEED_CA")]
    ca: Option<PathBuf>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    pub(crate) output: Format,
}

impl ConnectionArgs {
    /// # Errors
    /// When the server's address or the key can't be used.
    pub(crate) fn server(&self) -> Result<Server, Failure> {
        if !matches!(self.server.scheme_str(), Some("http" | "https")) || self.server.host().is_none() {
            let message = format!("`{}` is not a server URL: write it like http://127.0.0.1:7180", self.server);
            return Err(Failure::new(Exit::Usage, message));
        }
        let key = self.key()?.as_ref().map(authorization).transpose()?;
        let authorities = self.ca.as_deref().map(authorities).transpose();
        let authorities = authorities.map_err(|message| Failure::new(Exit::Configuration, message))?;
        Ok(Server::new(self.server.clone(), key, authorities))
    }

    fn key(&self) -> Result<Option<SecretString>, Failure> {
        match &self.key_file {
            Some(file) => read_secret(file).map(Some).map_err(|message| Failure::new(Exit::Configuration, message)),
            None => Ok(std::env::var(KEY).ok().filter(|key| !key.is_empty()).map(SecretString::from)),
        }
    }
}

fn authorities(file: &Path) -> Result<RootCertStore, String> {
    let unusable = |error: &dyn Display| format!("no certificates in {}: {error}", file.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| unusable(&error))? {
        let certificate = certificate.map_err(|error| unusable(&error))?;
        roots.add(certificate).map_err(|error| unusable(&error))?;
    }
    if roots.is_empty() { Err(unusable(&"no PEM block found")) } else { Ok(roots) }
}

fn authorization(key: &SecretString) -> Result<HeaderValue, Failure> {
    let bearer = HeaderValue::from_str(&format!("Bearer {}", key.expose_secret().trim()));
    let bad =
        |_| Failure::new(Exit::Configuration, "the key contains invalid characters: check --key-file or DRIPFEED_KEY");
    let mut bearer = bearer.map_err(bad)?;
    bearer.set_sensitive(true);
    Ok(bearer)
}
