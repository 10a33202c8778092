//! Exports spans over OTLP (protobuf over HTTP), in batches. A full queue drops spans, so that jobs never wait for it.

mod http_client;
mod losses;
mod resource;
mod span_data;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use dripfeed_trace::{Span, Tracer};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::trace::SpanExporter as _;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use self::http_client::ExportClient;
use self::losses::Losses;
use self::resource::resource;
use crate::settings::TraceSettings;

/// The maximum of queued spans.
const QUEUE: usize = 8192;
/// The maximum of spans per request.
const BATCH: usize = 512;
/// How long the first span of a batch waits for others.
const BATCH_DELAY: Duration = Duration::from_secs(1);
/// The timeout of the last export, at the end of the process.
const LAST_TIMEOUT: Duration = Duration::from_secs(2);

/// The task that exports spans.
pub(super) struct Exporter {
    stop: CancellationToken,
    task: TaskTracker,
}

impl Exporter {
    /// # Errors
    /// When the settings are invalid.
    pub(super) fn start(settings: &TraceSettings, role: &'static str) -> anyhow::Result<(Self, Tracer)> {
        let client = ExportClient::new(settings.endpoint.clone());
        let built = SpanExporter::builder().with_http().with_http_client(client);
        let mut otlp = built.with_endpoint(settings.endpoint.to_string()).build()?;
        otlp.set_resource(&resource(role));
        let (spans, queue) = channel(QUEUE);
        let dropped = Arc::<AtomicU64>::default();
        let counted = Arc::clone(&dropped);
        let tracer = Tracer::new(settings.sampling, move |span| {
            if spans.try_send(span).is_err() {
                counted.fetch_add(1, Ordering::Relaxed);
            }
        });
        let (stop, task) = (CancellationToken::new(), TaskTracker::new());
        task.spawn(export(otlp, queue, dropped, stop.clone()));
        task.close();
        Ok((Self { stop, task }, tracer))
    }

    /// Exports the queued spans, until `LAST_TIMEOUT`.
    pub(super) async fn end(&self) {
        self.stop.cancel();
        if timeout(LAST_TIMEOUT, self.task.wait()).await.is_err() {
            tracing::warn!("could not export the last spans: the OTLP endpoint doesn't answer");
        }
    }
}

async fn export(otlp: SpanExporter, mut queue: Receiver<Span>, dropped: Arc<AtomicU64>, stop: CancellationToken) {
    let mut losses = Losses::default();
    loop {
        let batch = next_batch(&mut queue, &stop).await;
        if batch.is_empty() {
            return losses.end();
        }
        let spans = batch.len();
        match otlp.export(batch.into_iter().map(span_data::span_data).collect()).await {
            Err(error) => losses.not_exported(spans, &error),
            Ok(()) => losses.exported(),
        }
        losses.dropped(dropped.swap(0, Ordering::Relaxed));
    }
}

/// Returns an empty batch at the end.
async fn next_batch(queue: &mut Receiver<Span>, stop: &CancellationToken) -> Vec<Span> {
    let mut batch = Vec::new();
    tokio::select! {
        _ = queue.recv_many(&mut batch, BATCH) => {}
        () = stop.cancelled() => {}
    }
    let deadline = Instant::now() + BATCH_DELAY;
    while batch.len() < BATCH && !stop.is_cancelled() {
        let room = BATCH - batch.len();
        let more = tokio::select! {
            more = timeout_at(deadline, queue.recv_many(&mut batch, room)) => more,
            () = stop.cancelled() => break,
        };
        if more.is_err() {
            return batch;
        }
    }
    while batch.len() < BATCH
        && let Ok(span) = queue.try_recv()
    {
        batch.push(span);
    }
    batch
}
