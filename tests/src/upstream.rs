//! An upstream that records every call, and answers as the test decides.

mod arrival;
pub mod ceiling;

use std::collections::BTreeMap;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{HeaderMap, Method, Request, Response, Uri};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use self::arrival::{Arrival, NotedStream, note_arrivals};
use crate::accept::accept;

/// One request, as it arrived.
#[derive(Clone, Debug)]
pub struct Call {
    /// When the kernel received the head.
    pub arrived: Instant,
    pub job: String,
    pub attempt: u32,
    pub method: Method,
    pub uri: Uri,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Call {
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("a body that is text")
    }
}

/// The upstream's answer to a call.
#[derive(Clone, Debug)]
pub enum Answer {
    Status(u16),
    /// With `Retry-After` in seconds.
    Throttle(u16, u64),
    /// Closes the connection without an answer.
    Nothing,
}

type Script = Arc<dyn Fn(Call) -> BoxFuture<'static, Answer> + Send + Sync>;

pub struct Upstream {
    address: SocketAddr,
    book: Book,
    _serving: AbortOnDropHandle<()>,
}

/// All calls, in the order of their arrival.
type Book = Arc<watch::Sender<Vec<Call>>>;

/// Timeout, longer than any test waits.
const PATIENCE: Duration = Duration::from_secs(90);

impl Upstream {
    /// Answers each call with the result of `script`, which may take time.
    pub async fn start<F, A>(script: F) -> Self
    where
        F: Fn(Call) -> A + Send + Sync + 'static,
        A: Future<Output = Answer> + Send + 'static,
    {
        let book = Book::default();
        Self::serving(script, Arc::clone(&book), Some(book)).await
    }

    /// As `start`, without recording calls, for large bodies.
    pub async fn without_book<F, A>(script: F) -> Self
    where
        F: Fn(Call) -> A + Send + Sync + 'static,
        A: Future<Output = Answer> + Send + 'static,
    {
        Self::serving(script, Book::default(), None).await
    }

    async fn serving<F, A>(script: F, book: Book, written: Option<Book>) -> Self
    where
        F: Fn(Call) -> A + Send + Sync + 'static,
        A: Future<Output = Answer> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        note_arrivals(&listener);
        let address = listener.local_addr().expect("a bound port");
        let script: Script = Arc::new(move |call| Box::pin(script(call)));
        let serving = tokio::spawn(serve(listener, script, written));
        Self { address, book, _serving: AbortOnDropHandle::new(serving) }
    }

    /// Answers 200 at once.
    pub async fn willing() -> Self {
        Self::start(|_| async { Answer::Status(200) }).await
    }

    pub fn url(&self) -> String {
        format!("http://{}/feed", self.address)
    }

    /// The recorded calls, in the order of their arrival.
    pub fn calls(&self) -> Vec<Call> {
        self.book.borrow().clone()
    }

    /// The number of calls.
    pub fn count(&self) -> usize {
        self.book.borrow().len()
    }

    /// The number of calls by job.
    pub fn calls_by_job(&self) -> BTreeMap<String, u32> {
        let mut counts = BTreeMap::new();
        for call in self.book.borrow().iter() {
            *counts.entry(call.job.clone()).or_default() += 1;
        }
        counts
    }

    /// Waits until this many calls have arrived in total.
    pub async fn has_got(&self, calls: usize) {
        let mut book = self.book.subscribe();
        let got = tokio::time::timeout(PATIENCE, book.wait_for(|book| book.len() >= calls)).await.is_ok();
        assert!(got, "{} of {calls} calls came within {PATIENCE:?}", self.book.borrow().len());
    }
}

async fn serve(listener: TcpListener, script: Script, book: Option<Book>) {
    // Dropped with the upstream, so that all connections are closed.
    let mut connections = tokio::task::JoinSet::new();
    loop {
        let stream = accept(&listener).await;
        connections.spawn(connection(stream, Arc::clone(&script), book.clone()));
    }
}

async fn connection(stream: TcpStream, script: Script, book: Option<Book>) {
    // Ignores errors, as killed callers break their connections.
    stream.set_nodelay(true).ok();
    let stream = NotedStream::new(stream);
    let arrival = stream.arrival();
    let service = service_fn(|request| answer(request, arrival.clone(), Arc::clone(&script), book.clone()));
    http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok();
}

/// An error closes the connection.
async fn answer(
    request: Request<Incoming>,
    arrival: Arrival,
    script: Script,
    book: Option<Book>,
) -> Result<Response<Full<Bytes>>, Cut> {
    let arrived = arrival.time();
    let (head, body) = request.into_parts();
    let body = body.collect().await.map_err(|_| Cut)?.to_bytes();
    let header = |name| head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let call = Call {
        arrived,
        job: header("dripfeed-job-id").to_owned(),
        attempt: header("dripfeed-attempt").parse().unwrap_or(0),
        method: head.method.clone(),
        uri: head.uri.clone(),
        headers: head.headers.clone(),
        body,
    };
    if let Some(book) = book {
        book.send_modify(|book| book.push(call.clone()));
    }
    let mut response = Response::new(Full::default());
    let status = match script(call).await {
        Answer::Nothing => return Err(Cut),
        Answer::Status(status) => status,
        Answer::Throttle(status, seconds) => {
            response.headers_mut().insert(http::header::RETRY_AFTER, seconds.into());
            status
        }
    };
    *response.status_mut() = status.try_into().expect("a status");
    Ok(response)
}

#[derive(Debug)]
struct Cut;

impl std::fmt::Display for Cut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the connection is closed without an answer")
    }
}

impl std::error::Error for Cut {}
