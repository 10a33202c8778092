//! An HTTP client for the intake.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;

/// Timeout of a response, longer than it may take in any state of the service.
const PATIENCE: Duration = Duration::from_secs(60);

/// An HTTP client for one intake. Cheap to clone; clones share their connections.
#[derive(Clone)]
pub struct Client {
    http: legacy::Client<HttpConnector, Full<Bytes>>,
    address: SocketAddr,
    /// The caller's API key, if any.
    key: Option<String>,
}

#[derive(Debug)]
pub struct ClientResponse {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl ClientResponse {
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// A string member.
    pub fn text(&self, member: &str) -> String {
        self.json()[member].as_str().unwrap_or_else(|| panic!("no `{member}`: {self:?}")).to_owned()
    }

    /// A number member.
    pub fn number(&self, member: &str) -> u64 {
        self.json()[member].as_u64().unwrap_or_else(|| panic!("no `{member}`: {self:?}"))
    }
}

impl Client {
    pub fn to(address: SocketAddr) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        Self { http: legacy::Client::builder(TokioExecutor::new()).build(tcp), address, key: None }
    }

    /// The same caller with a key.
    #[must_use]
    pub fn with_key(&self, key: &str) -> Self {
        Self { key: Some(key.to_owned()), ..self.clone() }
    }

    /// # Errors
    /// When no response comes because the server is gone.
    pub async fn call(
        &self,
        request: http::request::Builder,
        body: impl Into<Bytes>,
    ) -> Result<ClientResponse, String> {
        let request = request.body(Full::new(body.into())).expect("a request");
        let answered = async {
            let (head, body) = self.http.request(request).await.map_err(|error| error.to_string())?.into_parts();
            let body = body.collect().await.map_err(|error| error.to_string())?.to_bytes();
            Ok(ClientResponse { status: head.status.as_u16(), headers: head.headers, body })
        };
        tokio::time::timeout(PATIENCE, answered).await.unwrap_or_else(|_| Err(format!("no answer in {PATIENCE:?}")))
    }

    /// The first server-sent event of a stream.
    pub async fn event(&self, request: http::request::Builder) -> Result<String, String> {
        let request = request.body(Full::new(Bytes::new())).expect("a request");
        let read = async {
            let mut body = self.http.request(request).await.map_err(|error| error.to_string())?.into_body();
            let mut event = Vec::new();
            while !event.ends_with(b"\n\n") {
                let frame = body.frame().await.ok_or("the stream has ended")?.map_err(|error| error.to_string())?;
                event.extend(frame.into_data().unwrap_or_default());
            }
            String::from_utf8(event).map_err(|error| error.to_string())
        };
        tokio::time::timeout(PATIENCE, read).await.unwrap_or_else(|_| Err(format!("no event in {PATIENCE:?}")))
    }

    /// Opens a stream of events.
    pub async fn stream(&self, path: &str) -> Result<Incoming, String> {
        let request = self.request(Method::GET, path).body(Full::new(Bytes::new())).expect("a request");
        let answer = self.http.request(request).await.map_err(|error| error.to_string())?;
        if answer.status().is_success() { Ok(answer.into_body()) } else { Err(answer.status().to_string()) }
    }

    pub fn request(&self, method: Method, path: &str) -> http::request::Builder {
        let request = Request::builder().method(method).uri(format!("http://{}{path}", self.address));
        match &self.key {
            Some(key) => request.header("dripfeed-key", key),
            None => request,
        }
    }

    pub async fn get(&self, path: &str) -> Result<ClientResponse, String> {
        self.call(self.request(Method::GET, path), "").await
    }

    pub async fn patch(&self, path: &str, body: &str) -> Result<ClientResponse, String> {
        self.call(self.request(Method::PATCH, path), body.to_owned()).await
    }

    pub async fn post(&self, path: &str, body: impl Into<Bytes>) -> Result<ClientResponse, String> {
        self.call(self.request(Method::POST, path), body).await
    }

    /// Submits a job.
    pub async fn submit(&self, bucket: &str, body: impl Into<Bytes>) -> Result<ClientResponse, String> {
        self.post(&format!("/v1/buckets/{bucket}/jobs"), body).await
    }

    /// Submits a job with an idempotency key.
    pub async fn submit_once(&self, bucket: &str, key: &str, body: impl Into<Bytes>) -> Result<ClientResponse, String> {
        let request = self.request(Method::POST, &format!("/v1/buckets/{bucket}/jobs")).header("idempotency-key", key);
        self.call(request, body).await
    }
}
