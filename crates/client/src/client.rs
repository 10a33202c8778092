//! The client of an intake: its address, key and retries.

use std::sync::Arc;

use dripfeed_outbound::HttpClient;
use http::HeaderValue;

use crate::retries::Retries;

/// An intake. Cheap to clone; clones share their connections.
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) http: Arc<HttpClient>,
    /// The URL, without a trailing slash.
    pub(crate) server: Arc<str>,
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) user_agent: HeaderValue,
    pub(crate) retries: Retries,
}

impl Client {
    /// Returns the intake's URL.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// Returns a client with other retries that shares the connections of this one.
    #[must_use]
    pub fn with_retries(&self, retries: Retries) -> Self {
        Self { retries, ..self.clone() }
    }
}
