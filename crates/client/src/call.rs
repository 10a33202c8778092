//! Calls of the API by path, without retries.

use std::error::Error as StdError;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use dripfeed_job::retry_after;
use dripfeed_outbound::{PooledConnection, RequestError};
use http::header::{AUTHORIZATION, CONTENT_TYPE, LOCATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use http_body_util::{Full, LengthLimitError};
use hyper::body::Incoming;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::client::Client;
use crate::client_error::{ClientError, tls_error};
use crate::problem::Problem;
use crate::retries::ANSWER_TIMEOUT;

/// More than any response of an intake: a page ends after some 256 KiB and one more job of at most 4 MiB, which JSON
/// escapes may make six times as long.
const MAX_RESPONSE_BYTES: usize = 64 << 20;

/// A successful response.
#[derive(Clone, Debug)]
pub struct ApiResponse {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl ApiResponse {
    /// Deserializes the body.
    ///
    /// # Errors
    /// When it isn't JSON of that form.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, ClientError> {
        serde_json::from_slice(&self.body).map_err(ClientError::Unexpected)
    }

    pub(crate) fn text(&self, header: &str) -> Option<&str> {
        self.headers.get(header)?.to_str().ok()
    }
}

impl Client {
    /// Calls `GET`.
    ///
    /// # Errors
    /// When the call is refused or gets no answer.
    pub async fn get(&self, path: &str) -> Result<Json, ClientError> {
        self.call(Method::GET, path, HeaderMap::new(), Bytes::new()).await?.json()
    }

    /// Calls `POST` without a body.
    ///
    /// # Errors
    /// When the call is refused or gets no answer.
    pub async fn post(&self, path: &str) -> Result<Json, ClientError> {
        self.call(Method::POST, path, HeaderMap::new(), Bytes::new()).await?.json()
    }

    /// Calls `DELETE`.
    ///
    /// # Errors
    /// When the call is refused or gets no answer.
    pub async fn delete(&self, path: &str) -> Result<(), ClientError> {
        self.call(Method::DELETE, path, HeaderMap::new(), Bytes::new()).await.map(|_| ())
    }

    /// Calls with a JSON body.
    ///
    /// # Errors
    /// When the call is refused or gets no answer.
    pub async fn send_json(&self, method: Method, path: &str, body: &Json) -> Result<Json, ClientError> {
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        self.call(method, path, headers, Bytes::from(body.to_string())).await?.json()
    }

    /// Makes any call. `path` includes the query, such as `/v1/buckets?limit=10`.
    ///
    /// # Errors
    /// When the call is refused or gets no answer.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<ApiResponse, ClientError> {
        self.call_within(ANSWER_TIMEOUT, method, path, headers, body).await
    }

    pub(crate) async fn call_within(
        &self,
        time: Duration,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<ApiResponse, ClientError> {
        let request = self.request(method, path, headers, body)?;
        let response = async { read_response(self.send(request).await?).await };
        let answer = tokio::time::timeout(time, response).await.map_err(|_| ClientError::Silent(time))??;
        if answer.status.is_success() { Ok(answer) } else { Err(refusal(&answer)) }
    }

    pub(crate) async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<(Response<Incoming>, PooledConnection), ClientError> {
        self.http.request(request).await.map_err(|error| match error {
            RequestError::Unconnected(source) => self.unconnected(source),
            RequestError::Unanswered(source) if source.is_parse() && !source.is_parse_too_large() => {
                ClientError::NotHttp(Box::new(source))
            }
            RequestError::Unanswered(source) => ClientError::Cut(Box::new(source)),
        })
    }

    fn unconnected(&self, source: Box<dyn StdError + Send + Sync>) -> ClientError {
        let server = self.server().to_owned();
        match tls_error(&*source) {
            Some(error) => ClientError::Tls { server, source: Box::new(error.clone()) },
            None => ClientError::Unreachable { server, source },
        }
    }

    pub(crate) fn request(
        &self,
        method: Method,
        path: &str,
        headers: HeaderMap,
        body: Bytes,
    ) -> Result<Request<Full<Bytes>>, ClientError> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = method;
        *request.uri_mut() = format!("{}{path}", self.server()).parse().map_err(ClientError::Path)?;
        *request.headers_mut() = headers;
        request.headers_mut().insert(USER_AGENT, self.user_agent.clone());
        request.headers_mut().extend(self.authorization.clone().map(|key| (AUTHORIZATION, key)));
        Ok(request)
    }
}

/// Reads a response to its end.
pub(crate) async fn read_response(
    (response, connection): (Response<Incoming>, PooledConnection),
) -> Result<ApiResponse, ClientError> {
    let (head, body) = response.into_parts();
    let body = connection.read(body, MAX_RESPONSE_BYTES).await.map_err(|error| {
        if error.is::<LengthLimitError>() { ClientError::TooLarge(MAX_RESPONSE_BYTES) } else { ClientError::Cut(error) }
    })?;
    Ok(ApiResponse { status: head.status, headers: head.headers, body })
}

pub(crate) fn refusal(answer: &ApiResponse) -> ClientError {
    if let Some(location) = answer.text(LOCATION.as_str()).filter(|_| answer.status.is_redirection()) {
        return ClientError::Redirected { status: answer.status, location: location.to_owned() };
    }
    let retry_after = retry_after::of_headers(&answer.headers, SystemTime::now());
    Problem::of(answer.status, retry_after, &answer.body).into()
}

/// Percent-encodes a part of a path or query.
pub fn escaped(text: &str) -> impl std::fmt::Display {
    percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC)
}
