//! The client of an intake: its address, key and retries.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderValue;
use http_body_util::Full;
use hyper_rustls::HttpsConnector;
use hyper_util::client::legacy::{self, connect::HttpConnector};

use crate::retries::Retries;

pub(crate) type HttpClient = legacy::Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// An intake. Cheap to clone; clones share their connections.
#[derive(Clone, Debug)]
pub struct Client {
    pub(crate) http: HttpClient,
    /// Without a slash at its end.
    pub(crate) server: Arc<str>,
    pub(crate) authorization: Option<HeaderValue>,
    pub(crate) user_agent: HeaderValue,
    pub(crate) retries: Retries,
}

impl Client {
    /// The intake's URL.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.server
    }

    /// A client with other retries that shares the connections of this one.
    #[must_use]
    pub fn with_retries(&self, retries: Retries) -> Self {
        Self { retries, ..self.clone() }
    }
}
