//! An upstream in this process, which answers 200 at once, and records the times of calls.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// Interval between two checks.
const GLANCE: Duration = Duration::from_millis(2);
const LARGEST: usize = 1 << 20;

pub(crate) struct Upstream {
    address: SocketAddr,
    noted: Noted,
    serving: JoinHandle<()>,
}

type Noted = Arc<Mutex<Notes>>;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Detail {
    #[default]
    Counts,
    /// The time of each call.
    Arrivals,
    /// The time and body of each call.
    Bodies,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Notes {
    detail: Detail,
    pub(crate) calls: u64,
    pub(crate) first: Option<Instant>,
    pub(crate) last: Option<Instant>,
    pub(crate) arrivals: Vec<Instant>,
    pub(crate) bodies: Vec<Bytes>,
    /// Maximum number of recorded calls.
    most: u64,
}

impl Upstream {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let noted = Noted::default();
        let serving = tokio::spawn(serve(listener, Arc::clone(&noted)));
        Ok(Self { address, noted, serving })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Discards the records, and records the next calls, at most `most`.
    pub(crate) fn note(&self, detail: Detail, most: u64) {
        *lock(&self.noted) = Notes { detail, most, ..Notes::default() };
    }

    /// Waits until this many calls are recorded, and returns the records.
    pub(crate) async fn noted(&self, calls: u64, patience: Duration) -> anyhow::Result<Notes> {
        let begun = Instant::now();
        loop {
            let so_far = lock(&self.noted).calls;
            if so_far >= calls {
                return Ok(self.so_far());
            }
            anyhow::ensure!(begun.elapsed() < patience, "{so_far} of {calls} calls in {patience:?}");
            tokio::time::sleep(GLANCE).await;
        }
    }

    pub(crate) fn so_far(&self) -> Notes {
        lock(&self.noted).clone()
    }
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn lock(noted: &Noted) -> MutexGuard<'_, Notes> {
    noted.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(listener: TcpListener, noted: Noted) {
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors.
            tokio::time::sleep(GLANCE).await;
            continue;
        };
        // An error makes calls slow, but they are counted.
        drop(stream.set_nodelay(true));
        let noted = Arc::clone(&noted);
        let service = service_fn(move |request| answer(request, Arc::clone(&noted)));
        // After an error of a connection, calls are missing.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

async fn answer(request: Request<Incoming>, noted: Noted) -> Result<Response<Full<Bytes>>, Infallible> {
    let arrived = Instant::now();
    let body = http_body_util::Limited::new(request.into_body(), LARGEST).collect().await;
    let body = body.map(http_body_util::Collected::to_bytes).unwrap_or_default();
    let mut notes = lock(&noted);
    if notes.calls < notes.most {
        notes.calls += 1;
        notes.first.get_or_insert(arrived);
        notes.last = Some(arrived);
        if notes.detail != Detail::Counts {
            notes.arrivals.push(arrived);
        }
        if notes.detail == Detail::Bodies {
            notes.bodies.push(body);
        }
    }
    Ok(Response::new(Full::default()))
}
