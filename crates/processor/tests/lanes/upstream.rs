use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use dripfeed_processor::{RootCerts, Upstream, UpstreamSettings};
use http::{HeaderMap, Method, StatusCode};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// Longer than anything here takes, and shorter than a test run's patience.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Hands each call to the test, and waits for the test's answer.
pub struct Feed {
    pub url: String,
    calls: mpsc::Receiver<Call>,
}

/// One call as it arrived. Dropped without an answer it stays open.
pub struct Call {
    pub method: Method,
    pub path: String,
    pub headers: HeaderMap,
    pub body: String,
    answer: oneshot::Sender<Response>,
}

impl Feed {
    pub async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/feed", listener.local_addr().unwrap());
        let (sender, calls) = mpsc::channel(1000);
        let app = Router::new().fallback(take_down).with_state(sender);
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, calls }
    }

    pub async fn call(&mut self) -> Call {
        timeout(PATIENCE, self.calls.recv()).await.expect("a call within the patience").unwrap()
    }

    pub async fn calls(&mut self, number: usize) -> Vec<Call> {
        let mut calls = Vec::new();
        for _ in 0..number {
            calls.push(self.call().await);
        }
        calls
    }

    /// From now on every call is answered with 200 at once.
    pub fn that_is_content(mut self) -> Upstream {
        let upstream = self.upstream();
        tokio::spawn(async move {
            while let Some(call) = self.calls.recv().await {
                call.ok();
            }
        });
        upstream
    }

    pub fn has_no_call(&mut self) -> bool {
        self.calls.try_recv().is_err()
    }

    pub fn upstream(&self) -> Upstream {
        self.upstream_that_is_signed_for(&[])
    }

    pub fn upstream_that_is_signed_for(&self, secrets: &[&str]) -> Upstream {
        let settings = UpstreamSettings {
            url: self.url.clone(),
            method: Method::POST,
            timeout: PATIENCE,
            connect_timeout: PATIENCE,
            headers: Vec::new(),
            signing_secrets: secrets.iter().map(|secret| secret.parse().unwrap()).collect(),
            allow_private: true,
            root_certs: RootCerts::default(),
            max_answer: 1 << 20,
        };
        Upstream::new(settings).unwrap()
    }
}

impl Call {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub fn answer(self, answer: impl IntoResponse) {
        // The caller may have hung up.
        let _ = self.answer.send(answer.into_response());
    }

    pub fn ok(self) {
        self.answer(StatusCode::OK);
    }
}

async fn take_down(State(calls): State<mpsc::Sender<Call>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX).await.unwrap();
    let (answer, answered) = oneshot::channel();
    let call = Call {
        method: head.method,
        path: head.uri.to_string(),
        headers: head.headers,
        body: String::from_utf8(body.into()).unwrap(),
        answer,
    };
    let _ = calls.send(call).await;
    match answered.await {
        Ok(answer) => answer,
        Err(_) => std::future::pending().await,
    }
}
