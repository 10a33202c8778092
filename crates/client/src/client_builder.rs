//! Options of the connection to an intake.

mod trust;

use std::sync::Arc;
use std::time::Duration;

use dripfeed_job::port;
use dripfeed_outbound::{Dial, HttpClient};
use http::{HeaderValue, Uri};
use hyper_rustls::HttpsConnectorBuilder;
use hyper_util::client::legacy::connect::HttpConnector;
use thiserror::Error;

use self::trust::tls_config;
use crate::client::Client;
use crate::retries::Retries;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const USER_AGENT: &str = concat!("dripfeed-client/", env!("CARGO_PKG_VERSION"));

/// An invalid option of a client.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum BuildError {
    /// User, password and query are masked in the text.
    #[error("`{0}` is not a server URL, such as http://127.0.0.1:7180")]
    Server(String),
    #[error("the server URL has a user or password, which would not be sent: remove it; a key is sent as a header")]
    Login,
    #[error("the key contains invalid characters")]
    Key,
    #[error("the user agent contains invalid characters")]
    UserAgent,
    #[error("{0}")]
    Certificates(String),
}

/// See [`Client::builder`].
#[must_use]
pub struct ClientBuilder {
    server: String,
    key: Option<String>,
    /// PEM.
    certificates: Option<Vec<u8>>,
    user_agent: String,
    retries: Retries,
}

impl Client {
    /// Creates a client without an API key, with default retries.
    ///
    /// # Errors
    /// When `server` isn't a valid URL.
    pub fn new(server: impl Into<String>) -> Result<Self, BuildError> {
        Self::builder(server).build()
    }

    /// Returns a builder for the client of an intake, such as `http://127.0.0.1:7180`.
    pub fn builder(server: impl Into<String>) -> ClientBuilder {
        ClientBuilder {
            server: server.into(),
            key: None,
            certificates: None,
            user_agent: USER_AGENT.to_owned(),
            retries: Retries::default(),
        }
    }
}

impl ClientBuilder {
    /// Sets the key of the caller, sent as `Authorization: Bearer …`.
    pub fn key(self, key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    /// Sets the certificate authorities to trust instead of the public ones, as PEM.
    pub fn certificates(self, pem: impl Into<Vec<u8>>) -> Self {
        Self { certificates: Some(pem.into()), ..self }
    }

    /// Sets the `User-Agent` of requests.
    pub fn user_agent(self, user_agent: impl Into<String>) -> Self {
        Self { user_agent: user_agent.into(), ..self }
    }

    /// Sets the retries of calls, by default [`Retries::default`].
    pub fn retries(self, retries: Retries) -> Self {
        Self { retries, ..self }
    }

    /// Creates the client.
    ///
    /// # Errors
    /// When an option is invalid.
    pub fn build(self) -> Result<Client, BuildError> {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let tls = tls_config(self.certificates.as_deref()).map_err(BuildError::Certificates)?;
        let https =
            HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(tcp);
        let url = server(&self.server)?;
        Ok(Client {
            server: url.to_string().trim_end_matches('/').into(),
            http: Arc::new(HttpClient::new(Arc::new(Dial::new(https)), url)),
            authorization: self.key.as_deref().map(authorization).transpose()?,
            user_agent: HeaderValue::try_from(self.user_agent).map_err(|_| BuildError::UserAgent)?,
            retries: self.retries,
        })
    }
}

fn server(text: &str) -> Result<Uri, BuildError> {
    let bad = || BuildError::Server(masked(text));
    let url: Uri = text.parse().map_err(|_| bad())?;
    let is_address =
        matches!(url.scheme_str(), Some("http" | "https")) && url.host().is_some() && url.query().is_none();
    if !is_address || !port::is_usable(&url) {
        return Err(bad());
    }
    if url.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(BuildError::Login);
    }
    Ok(url)
}

/// Masks user, password and query of a URL, as error messages are logged.
fn masked(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").map_or(("", url), |(scheme, rest)| (&url[..scheme.len() + 3], rest));
    let (address, query) = rest.split_once('?').map_or((rest, ""), |(address, _)| (address, "?***"));
    let (login, address) = address.rsplit_once('@').map_or(("", address), |(_, address)| ("***@", address));
    format!("{scheme}{login}{address}{query}")
}

fn authorization(key: &str) -> Result<HeaderValue, BuildError> {
    let bearer = HeaderValue::from_str(&format!("Bearer {}", key.trim()));
    let mut bearer = bearer.map_err(|_| BuildError::Key)?;
    bearer.set_sensitive(true);
    Ok(bearer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_a_url_of_http() {
        for (text, url) in [
            ("http://127.0.0.1:7180/", "http://127.0.0.1:7180"),
            ("https://example.com/queue/", "https://example.com/queue"),
        ] {
            assert_eq!(Client::new(text).map(|client| client.server().to_owned()).as_deref(), Ok(url));
        }
        for text in
            ["http://h:99999", "", "127.0.0.1:7180", "ftp://example.com", "http://", "/v1", "http://example.com/?***"]
        {
            assert_eq!(server(text), Err(BuildError::Server(text.to_owned())));
        }
    }

    #[test]
    fn no_error_shows_a_password() {
        for text in
            ["http://u:canary@h", "https://canary@h/x", "http://u:canary@h:1:2", "u:canary@h", "http://h?canary"]
        {
            let error = Client::new(text).map(|_| ()).map_err(|error| format!("{error} {error:?}"));
            assert!(error.as_ref().is_err_and(|error| !error.contains("canary")), "{error:?}");
        }
    }

    #[test]
    fn an_invalid_client_option_is_reported() {
        let client = || Client::builder("http://127.0.0.1:7180");
        assert_eq!(client().key("a\nb").build().err(), Some(BuildError::Key));
        assert!(matches!(client().certificates("none").build().err(), Some(BuildError::Certificates(_))));
        assert!(client().key(" secret\n").build().is_ok_and(|client| !format!("{client:?}").contains("secret")));
    }
}
