//! The upstream of the experiments: answers after a short time, and records when each call came, and for which job.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use dripfeed_http::ConnectionLimits;
use http::HeaderMap;
use parking_lot::Mutex;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::call_log::{CallLog, PassedCalls};
use crate::error::LabError;

/// A timeout that no call reaches on a machine that is fit for measurements.
const PATIENCE: Duration = Duration::from_secs(30);

/// High, so that connections don't limit a measurement.
const LIMITS: ConnectionLimits = ConnectionLimits {
    most: 10_000,
    most_per_address: 10_000,
    head_timeout: PATIENCE,
    idle_timeout: PATIENCE,
    stall_timeout: PATIENCE,
    drain: Duration::ZERO,
};

#[derive(Clone, Debug)]
pub(crate) struct Upstream {
    takes: Duration,
    log: CallLog,
    /// The calls with the id of their job, if they have one.
    jobs: Arc<Mutex<Vec<(String, Instant)>>>,
    calls: Arc<watch::Sender<usize>>,
}

/// An HTTP server as upstream. Stopped when dropped.
pub(crate) struct HttpUpstream {
    pub(crate) upstream: Upstream,
    pub(crate) url: String,
    _serving: AbortOnDropHandle<()>,
}

impl Upstream {
    pub(crate) fn new(takes: Duration) -> Self {
        Self { takes, log: CallLog::default(), jobs: Arc::default(), calls: Arc::new(watch::Sender::new(0)) }
    }

    /// Makes one call.
    pub(crate) async fn call(&self) {
        self.log.seen(Instant::now());
        self.calls.send_replace(self.log.count());
        tokio::time::sleep(self.takes).await;
    }

    async fn call_for(&self, headers: &HeaderMap) {
        if let Some(id) = headers.get("dripfeed-job-id").and_then(|id| id.to_str().ok()) {
            self.jobs.lock().push((id.to_owned(), Instant::now()));
        }
        self.call().await;
    }

    /// Returns the jobs of all calls; a job that was called several times is contained several times.
    pub(crate) fn jobs(&self) -> Vec<(String, Instant)> {
        self.jobs.lock().clone()
    }

    pub(crate) fn passes(&self) -> PassedCalls {
        self.log.read()
    }

    /// Waits until this many calls have come.
    pub(crate) async fn has_got(&self, calls: usize) -> Result<(), LabError> {
        let mut count = self.calls.subscribe();
        let got = tokio::time::timeout(PATIENCE, count.wait_for(|got| *got >= calls)).await;
        got.map(drop).map_err(|_| LabError::Late("the upstream did not get its calls", PATIENCE))
    }

    pub(crate) async fn serve(self) -> Result<HttpUpstream, LabError> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}/", listener.local_addr()?);
        let upstream = self.clone();
        let service = Router::new().fallback(async move |headers: HeaderMap| upstream.call_for(&headers).await);
        let serving = tokio::spawn(async move {
            // It ends with the process, or when it is dropped.
            let _ = dripfeed_http::serve(listener, service, LIMITS, CancellationToken::new()).await;
        });
        Ok(HttpUpstream { upstream: self, url, _serving: AbortOnDropHandle::new(serving) })
    }
}
