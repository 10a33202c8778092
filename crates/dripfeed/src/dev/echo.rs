//! The echo upstream: returns the body of each request, with the status and delay of its query, and prints a line.

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

/// How much of a body a line shows.
const SHOWN_CHARACTERS: usize = 60;

/// With long timeouts, because processors keep idle connections for the next job.
const LIMITS: ConnectionLimits = ConnectionLimits {
    most: 1024,
    most_per_address: 1024,
    head_timeout: Duration::from_secs(60),
    idle_timeout: Duration::from_secs(60),
    stall_timeout: Duration::from_secs(60),
    drain: Duration::from_millis(500),
};

pub(super) struct Echo {
    listener: TcpListener,
    address: SocketAddr,
}

/// The query that determines the response: `/echo?status=429&retry_after=5&delay=2s`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct EchoQuery {
    #[serde(default = "ok")]
    status: u16,
    #[serde(default, with = "dripfeed_job::duration::text")]
    delay: Duration,
    /// In seconds.
    retry_after: Option<u32>,
}

impl EchoQuery {
    /// Parses the query. Ignores parameters with an empty value.
    fn of(uri: &Uri) -> Result<Self, String> {
        let pairs = uri.query().unwrap_or_default().split('&').filter(|pair| !pair.ends_with('='));
        let uri = Uri::try_from(format!("/?{}", pairs.collect::<Vec<_>>().join("&")));
        let Query(query) = Query::try_from_uri(&uri.map_err(|error| error.to_string())?)
            .map_err(|rejection: QueryRejection| rejection.body_text())?;
        Ok(query)
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
    /// Binds `port`, or a free port if it is in use.
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

/// Returns the number of calls so far.
async fn calls(State(state): State<EchoState>) -> String {
    format!("{{\"calls\":{}}}\n", state.calls.load(Ordering::Relaxed))
}

async fn echo(State(state): State<EchoState>, method: Method, uri: Uri, headers: HeaderMap, body: Bytes) -> Response {
    let number = state.calls.fetch_add(1, Ordering::Relaxed) + 1;
    let response = match (state.modes.respond().await, EchoQuery::of(&uri)) {
        (Some(response), _) => response,
        (None, Ok(query)) => respond(&query, &headers, body.clone()).await,
        (None, Err(why)) => (StatusCode::BAD_REQUEST, why).into_response(),
    };
    // If the lines can't be printed, the echo goes on.
    let _ = output::line(line(number, &method, &uri, &headers, &body, response.status()));
    response
}

async fn respond(query: &EchoQuery, headers: &HeaderMap, body: Bytes) -> Response {
    let Ok(status) = StatusCode::from_u16(query.status) else {
        return (StatusCode::BAD_REQUEST, "status: use 100 to 999\n").into_response();
    };
    tokio::time::sleep(query.delay).await;
    let content_type =
        headers.get(CONTENT_TYPE).cloned().unwrap_or(HeaderValue::from_static("application/octet-stream"));
    let mut response = (status, [(CONTENT_TYPE, content_type)], body).into_response();
    if let Some(seconds) = query.retry_after {
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
