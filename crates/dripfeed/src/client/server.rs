//! The HTTP client of an intake.

use std::time::Duration;

use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::{Client, connect::HttpConnector};
use hyper_util::rt::TokioExecutor;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value as Json;

use super::problem::{Problem, RequestError};

/// Timeout of a whole response; above the longest `Prefer: wait`.
const ANSWER_TIME: Duration = Duration::from_secs(90);
const CONNECT_TIME: Duration = Duration::from_secs(5);

/// A server, and the key to it.
#[derive(Clone)]
pub(crate) struct Server {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    base: Uri,
    key: Option<HeaderValue>,
}

/// An answer that isn't a refusal.
#[derive(Debug)]
pub(crate) struct ServerResponse {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl ServerResponse {
    /// # Errors
    /// When it isn't JSON.
    pub(crate) fn json(&self) -> Result<Json, RequestError> {
        serde_json::from_slice(&self.body).map_err(RequestError::Unreadable)
    }
}

impl Server {
    /// `authorities` are trusted instead of the public ones.
    pub(super) fn new(base: Uri, key: Option<HeaderValue>, authorities: Option<RootCertStore>) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT_TIME));
        let tls = HttpsConnectorBuilder::new();
        let tls = match authorities {
            None => tls.with_webpki_roots(),
            Some(roots) => {
                tls.with_tls_config(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth())
            }
        };
        let https = tls.https_or_http().enable_http1().wrap_connector(tcp);
        Self { client: Client::builder(TokioExecutor::new()).build(https), base, key }
    }

    /// # Errors
    /// When it is refused or unanswered.
    pub(crate) async fn get(&self, path: &str) -> Result<Json, RequestError> {
        self.call(Method::GET, path, HeaderMap::new(), Bytes::new()).await?.json()
    }

    /// # Errors
    /// When it is refused or unanswered.
    pub(crate) async fn post(&self, path: &str) -> Result<Json, RequestError> {
        self.call(Method::POST, path, HeaderMap::new(), Bytes::new()).await?.json()
    }

    /// With a body of JSON.
    ///
    /// # Errors
    /// When it is refused or unanswered.
    pub(crate) async fn send_json(&self, method: Method, path: &str, body: &Json) -> Result<Json, RequestError> {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        self.call(method, path, headers, Bytes::from(body.to_string())).await?.json()
    }

    /// A list, page by page.
    pub(crate) const fn list<'a>(&'a self, path: &'a str, filters: &'a [(&'a str, String)], most: usize) -> Pages<'a> {
        Pages { server: self, path, filters, left: most, from: Some(None) }
    }

    /// # Errors
    /// When it is refused or unanswered.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<ServerResponse, RequestError> {
        let request = self.request(method, path, headers, body)?;
        let answered = async { whole(self.send(request).await?).await };
        let limited = tokio::time::timeout(ANSWER_TIME, answered).await;
        let answer = limited.map_err(|_| RequestError::Silent(ANSWER_TIME))??;
        if answer.status.is_success() { Ok(answer) } else { Err(refusal(&answer)) }
    }

    pub(super) async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, RequestError> {
        self.client.request(request).await.map_err(|error| self.unreachable(error))
    }

    /// Its address.
    pub(crate) fn base(&self) -> String {
        self.base.to_string().trim_end_matches('/').to_owned()
    }

    fn unreachable(&self, source: hyper_util::client::legacy::Error) -> RequestError {
        RequestError::Unreachable { server: self.base(), source: Box::new(source) }
    }

    pub(super) fn request(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Request<Full<Bytes>>, RequestError> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = format!("{}{path}", self.base()).parse().map_err(RequestError::Address)?;
        *request.headers_mut() = headers;
        let agent = concat!("dripfeed/", env!("CARGO_PKG_VERSION"));
        request.headers_mut().insert(USER_AGENT, HeaderValue::from_static(agent));
        if let Some(key) = &self.key {
            request.headers_mut().insert(AUTHORIZATION, key.clone());
        }
        Ok(request)
    }
}

/// Reads an answer to its end.
pub(super) async fn whole(response: Response<Incoming>) -> Result<ServerResponse, RequestError> {
    let (head, body) = response.into_parts();
    let body = body.collect().await.map_err(RequestError::cut)?.to_bytes();
    Ok(ServerResponse { status: head.status, headers: head.headers, body })
}

pub(super) fn refusal(answer: &ServerResponse) -> RequestError {
    let retry_after = answer.headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    Problem::of(answer.status, retry_after.map(Duration::from_secs), &answer.body).into()
}

const LARGEST_PAGE: usize = 1000;

/// The pages of a list, read one at a time: a list may exceed the memory.
pub(crate) struct Pages<'a> {
    server: &'a Server,
    path: &'a str,
    filters: &'a [(&'a str, String)],
    /// The most items that are still wanted.
    left: usize,
    /// The cursor of the next page, which the first one doesn't have; None: that was the last.
    from: Option<Option<String>>,
}

impl Pages<'_> {
    /// The next page; None at the end.
    ///
    /// # Errors
    /// When it is refused or unanswered.
    pub(crate) async fn next(&mut self) -> Result<Option<Vec<Json>>, RequestError> {
        let Some(cursor) = self.from.take().filter(|_| self.left > 0) else { return Ok(None) };
        let mut query: Vec<_> = self.filters.iter().map(|(name, value)| (*name, value.clone())).collect();
        query.push(("limit", self.left.min(LARGEST_PAGE).to_string()));
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        let mut page = self.server.get(&format!("{}?{}", self.path, encoded(&query))).await?;
        let Json::Array(items) = page["items"].take() else { return Ok(None) };
        self.left = self.left.saturating_sub(items.len());
        if let Json::String(next) = page["next"].take() {
            self.from = Some(Some(next));
        }
        Ok(Some(items))
    }
}

fn encoded(query: &[(&str, String)]) -> String {
    query.iter().map(|(name, value)| format!("{name}={}", escaped(value))).collect::<Vec<_>>().join("&")
}

/// A part of a path or of a query.
pub(crate) fn escaped(text: &str) -> impl std::fmt::Display {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC)
}
