//! The echo upstream: returns each request, as its parameters say, and prints a line for it.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::QueryRejection;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{any, get};
use dripfeed_http::ConnectionLimits;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use serde::Deserialize;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::echo_mode::EchoModes;
use crate::exit::Failure;
use crate::output;

/// Of a body, in a line.
const SHOWN_CHARACTERS: usize = 60;

/// Connections that are quiet wait for the next job.
const LIMITS: ConnectionLimits = ConnectionLimits {
    most: 1024,
    most_per_address: 1024,
    head_timeout: Duration::from_secs(60),
    stall_timeout: Duration::from_secs(60),
    drain: Duration::from_millis(500),
};

pub(super) struct Echo {
    listener: TcpListener,
    address: SocketAddr,
}

/// How a call wants to be answered: `/echo?status=429&retry_after=5&delay=2s`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EchoQuery {
    #[serde(default = "ok")]
    status: u16,
    #[serde(default, with = "dripfeed_job::duration::text")]
    delay: Duration,
    /// Seconds.
    retry_after: Option<u32>,
}

impl EchoQuery {
    /// What has no value is as good as missing.
    fn of(uri: &Uri) -> Result<Self, String> {
        let given: Vec<&str> = uri.query().unwrap_or_default().split('&').filter(|pair| !pair.ends_with('=')).collect();
        let uri = Uri::try_from(format!("/?{}", given.join("&")));
        let Query(wish) = Query::try_from_uri(&uri.map_err(|error| error.to_string())?)
            .map_err(|rejection: QueryRejection| rejection.body_text())?;
        Ok(wish)
    }
}

fn ok() -> u16 {
    200
}

#[derive(Clone, Default)]
struct EchoState {
    calls: Arc<AtomicU64>,
    modes: EchoModes,
}

impl Echo {
    /// On `port`, or on a free one when it is taken.
    pub(super) async fn bind(port: u16) -> Result<Self, Failure> {
        let listener = match TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await {
            Ok(listener) => listener,
            Err(_) => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?,
        };
        let address = listener.local_addr()?;
        Ok(Self { listener, address })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) async fn serve(self, modes: EchoModes, stop: CancellationToken) -> std::io::Result<()> {
        let router = Router::new()
            .route("/", get(calls))
            .route("/echo", any(echo))
            .route("/echo/{*path}", any(echo))
            .layer(DefaultBodyLimit::disable())
            .with_state(EchoState { modes, ..EchoState::default() });
        dripfeed_http::serve(self.listener, router, LIMITS, stop).await
    }
}

/// How many there were.
async fn calls(State(state): State<EchoState>) -> String {
    format!("{{\"calls\":{}}}\n", state.calls.load(Ordering::Relaxed))
}

async fn echo(State(state): State<EchoState>, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let number = state.calls.fetch_add(1, Ordering::Relaxed) + 1;
    let response = match (state.modes.answer().await, EchoQuery::of(&uri)) {
        (Some(response), _) => response,
        (None, Ok(wish)) => answer(&wish, &headers, body.clone()).await,
        (None, Err(why)) => (StatusCode::BAD_REQUEST, why).into_response(),
    };
    // Nobody who reads the lines any more is no reason to stop echoing.
    let _ = output::line(line(number, &method, &uri, &headers, &body, response.status()));
    response
}

async fn answer(wish: &EchoQuery, headers: &HeaderMap, body: Bytes) -> Response {
    let Ok(status) = StatusCode::from_u16(wish.status) else {
        return (StatusCode::BAD_REQUEST, "status: use 100 to 999\n").into_response();
    };
    tokio::time::sleep(wish.delay).await;
    let content_type =
        headers.get(CONTENT_TYPE).cloned().unwrap_or(HeaderValue::from_static("application/octet-stream"));
    let mut response = (status, [(CONTENT_TYPE, content_type)], body).into_response();
    if let Some(seconds) = wish.retry_after {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// `12:00:00.123 #7 demo POST /echo attempt 1 → 200 {"n":7}`
fn line(number: u64, method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8], status: StatusCode) -> String {
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("-");
    let (bucket, attempt) = (header("dripfeed-bucket"), header("dripfeed-attempt"));
    let text = String::from_utf8_lossy(body);
    let mut shown: String = text.chars().take(SHOWN_CHARACTERS).flat_map(char::escape_debug).collect();
    shown = shown.replace("\\\"", "\"");
    if text.chars().count() > SHOWN_CHARACTERS {
        shown.push('…');
    }
    let time = jiff::Zoned::now().strftime("%H:%M:%S%.3f").to_string();
    format!("{time} #{number} {bucket} {method} {uri} attempt {attempt} → {} {shown}", status.as_u16())
}
