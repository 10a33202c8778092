//! A receiver of OTLP over HTTP that decodes what it gets.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::routing::post;
use bytes::Bytes;
use flate2::read::GzDecoder;
use http::header::CONTENT_ENCODING;
use http::{HeaderMap, StatusCode};
use opentelemetry_proto::tonic::collector::trace::v1::{ExportTraceServiceRequest, ExportTraceServiceResponse};
use opentelemetry_proto::tonic::common::v1::{KeyValue, any_value::Value};
use opentelemetry_proto::tonic::trace::v1 as otlp;
use prost::Message as _;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

/// Longer than anything a test waits for.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(60);

/// A span as it came, ids in hexadecimal digits.
#[derive(Clone, Debug)]
pub struct Received {
    pub service: String,
    /// `service.instance.id`
    pub instance: String,
    pub name: String,
    pub trace: String,
    pub id: String,
    pub parent: String,
    /// Trace and span that it links to.
    pub links: Vec<(String, String)>,
    pub attributes: BTreeMap<String, String>,
    pub error: Option<String>,
    pub began: u64,
    pub ended: u64,
}

pub struct Receiver {
    url: String,
    spans: Arc<watch::Sender<Vec<Received>>>,
    /// Of each request.
    headers: Arc<Mutex<Vec<HeaderMap>>>,
    refused: Arc<AtomicUsize>,
    _serving: AbortOnDropHandle<()>,
}

impl Receiver {
    pub async fn start() -> Self {
        Self::that_refuses(|_| false).await
    }

    /// `refuses` is asked for each request, by its number from 0 on.
    pub async fn that_refuses(refuses: fn(usize) -> bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("a bound port"));
        let spans = Arc::<watch::Sender<Vec<Received>>>::default();
        let headers = Arc::<Mutex<Vec<HeaderMap>>>::default();
        let refused = Arc::<AtomicUsize>::default();
        let (kept, kept_headers, kept_refused) = (Arc::clone(&spans), Arc::clone(&headers), Arc::clone(&refused));
        let take = post(async move |headers: HeaderMap, body: Bytes| {
            let request = ExportTraceServiceRequest::decode(unpacked(&headers, body)).expect("a request of OTLP");
            let number = {
                let mut kept = kept_headers.lock().unwrap_or_else(PoisonError::into_inner);
                kept.push(headers);
                kept.len() - 1
            };
            let spans = received(request);
            if refuses(number) {
                kept_refused.fetch_add(spans.len(), Ordering::SeqCst);
                // Those that say "later" are sent again.
                return Err(StatusCode::BAD_REQUEST);
            }
            kept.send_modify(|kept| kept.extend(spans));
            Ok(ExportTraceServiceResponse::default().encode_to_vec())
        });
        let router = Router::new().route("/v1/traces", take);
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.expect("it serves") });
        Self { url, spans, headers, refused, _serving: AbortOnDropHandle::new(serving) }
    }

    pub fn url(&self) -> &str {
        &self.url
    }

    /// Of each request so far.
    pub fn headers(&self) -> Vec<HeaderMap> {
        self.headers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Spans of requests that it refused.
    pub fn refused(&self) -> usize {
        self.refused.load(Ordering::SeqCst)
    }

    pub fn spans(&self) -> Vec<Received> {
        self.spans.borrow().clone()
    }

    /// Returns when as many spans have come in all.
    pub async fn has_got(&self, spans: usize) -> Vec<Received> {
        let mut come = self.spans.subscribe();
        let got = tokio::time::timeout(PATIENCE, come.wait_for(|come| come.len() >= spans)).await.is_ok();
        assert!(got, "{spans} spans didn't come: {:#?}", self.spans());
        self.spans()
    }
}

/// A collector compresses what it sends on.
fn unpacked(headers: &HeaderMap, body: Bytes) -> Bytes {
    if !headers.contains_key(CONTENT_ENCODING) {
        return body;
    }
    let mut unpacked = Vec::new();
    GzDecoder::new(body.as_ref()).read_to_end(&mut unpacked).expect("a body in gzip");
    unpacked.into()
}

fn received(request: ExportTraceServiceRequest) -> Vec<Received> {
    let mut all = Vec::new();
    for of_process in request.resource_spans {
        let resource = attributes(of_process.resource.map(|resource| resource.attributes).unwrap_or_default());
        let spans = of_process.scope_spans.into_iter().flat_map(|scope| scope.spans);
        all.extend(spans.map(|span| of(&resource, span)));
    }
    all
}

fn of(resource: &BTreeMap<String, String>, span: otlp::Span) -> Received {
    let failed = span.status.filter(|status| status.code == otlp::status::StatusCode::Error as i32);
    Received {
        service: resource["service.name"].clone(),
        instance: resource["service.instance.id"].clone(),
        name: span.name,
        trace: hex(&span.trace_id),
        id: hex(&span.span_id),
        parent: hex(&span.parent_span_id),
        links: span.links.iter().map(|link| (hex(&link.trace_id), hex(&link.span_id))).collect(),
        attributes: attributes(span.attributes),
        error: failed.map(|status| status.message),
        began: span.start_time_unix_nano,
        ended: span.end_time_unix_nano,
    }
}

fn attributes(of: Vec<KeyValue>) -> BTreeMap<String, String> {
    let text = |value: Value| match value {
        Value::StringValue(text) => text,
        Value::IntValue(number) => number.to_string(),
        other => format!("{other:?}"),
    };
    of.into_iter().filter_map(|one| Some((one.key, text(one.value?.value?)))).collect()
}

fn hex(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}
