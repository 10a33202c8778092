//! The upstream of a run: records every call, answers as the seed determines, and can kill the calling processor. Each
//! processor has a separate address, which identifies it.

use std::collections::{BTreeSet, HashMap};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use dripfeed_job::JobId;
use futures::stream::{self, BoxStream, StreamExt};
use http::{Request, Response, header};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio_util::task::AbortOnDropHandle;

use super::breakpoint::{Breakpoints, Killer, Step};
use super::jobs::{Jobs, PlannedAnswer};

use crate::accept::accept;

/// The header with a job's number in the run.
pub const NUMBER: &str = "torture-number";
/// The header with the name of a schedule.
pub const SCHEDULE: &str = "torture-schedule";

/// Seconds of `Retry-After` for calls that the seed throttles.
const RETRY_AFTER: u64 = 1;

/// One request, as it arrived.
#[derive(Clone, Debug)]
pub struct Call {
    /// When the head was read.
    pub at: Instant,
    pub wall_ms: u64,
    /// The index of the processor that called.
    pub slot: usize,
    /// `None` if the job isn't of this run.
    pub number: Option<u64>,
    pub job: JobId,
    pub attempt: u32,
    /// Whether the body is the submitted one.
    pub intact: bool,
    /// `None` if the caller was killed instead.
    pub answer: Option<PlannedAnswer>,
    /// When the answer was sent, before the caller receives it; `None` if it wasn't.
    pub answered: Option<Instant>,
    /// The schedule and tick of a schedule's job.
    pub tick: Option<(String, String)>,
}

#[derive(Default)]
struct Written {
    calls: Vec<Call>,
    per_job: HashMap<JobId, u32>,
}

struct Shared {
    jobs: Jobs,
    /// Numbers of the jobs of which every call kills the caller.
    deadly: BTreeSet<u64>,
    written: Mutex<Written>,
    count: watch::Sender<usize>,
    /// Throttles the next call for this many seconds, and sends the time of its arrival.
    throttle: Mutex<Option<(u64, oneshot::Sender<Instant>)>>,
}

pub struct Target {
    shared: Arc<Shared>,
    _serving: Vec<AbortOnDropHandle<()>>,
    pub addresses: Vec<SocketAddr>,
    pub breakpoints: Vec<Breakpoints>,
}

impl Target {
    /// Starts the upstream, with an address for each of `killers`, which kill the processor that calls there.
    pub async fn start(jobs: Jobs, deadly: BTreeSet<u64>, killers: Vec<Killer>) -> Self {
        let (written, throttle) = (Mutex::default(), Mutex::default());
        let shared = Arc::new(Shared { jobs, deadly, written, count: watch::Sender::new(0), throttle });
        let (mut serving, mut addresses, mut breakpoints) = (Vec::new(), Vec::new(), Vec::new());
        for (slot, killer) in killers.into_iter().enumerate() {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            addresses.push(listener.local_addr().expect("a bound port"));
            let caller = Caller { shared: Arc::clone(&shared), slot, breakpoints: Breakpoints::new(killer) };
            breakpoints.push(caller.breakpoints.clone());
            serving.push(AbortOnDropHandle::new(tokio::spawn(serve(listener, caller))));
        }
        Self { shared, _serving: serving, addresses, breakpoints }
    }

    /// The calls, in the order of their arrival.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.written().calls.clone()
    }

    pub fn count(&self) -> usize {
        *self.shared.count.borrow()
    }

    /// Answers the next call with 429 and `Retry-After` in seconds. Returns the time of its arrival.
    pub async fn throttles(&self, seconds: u64) -> Instant {
        let (notify, arrived) = oneshot::channel();
        *self.shared.throttle.lock().unwrap_or_else(PoisonError::into_inner) = Some((seconds, notify));
        arrived.await.expect("nobody else has it throttle")
    }

    /// Waits for the first call after `moment` that is answered with success, or will be.
    pub async fn works_after(&self, moment: Instant) -> Instant {
        let mut count = self.shared.count.subscribe();
        loop {
            let seen =
                self.shared.written().calls.iter().rev().take_while(|call| call.at > moment).last().map(|call| call.at);
            if let Some(at) = seen {
                return at;
            }
            count.changed().await.expect("the upstream lives as long as its run");
        }
    }
}

impl Shared {
    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The address of one processor.
#[derive(Clone)]
struct Caller {
    shared: Arc<Shared>,
    slot: usize,
    breakpoints: Breakpoints,
}

async fn serve(listener: TcpListener, caller: Caller) {
    // Dropped with the upstream, so that all connections are closed.
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        connections.spawn(connection(accept(&listener).await, caller.clone()));
    }
}

async fn connection(stream: TcpStream, caller: Caller) {
    if caller.breakpoints.kills_at(Step::BeforeSend).await {
        return;
    }
    stream.set_nodelay(true).ok();
    let service = service_fn(|request| answer(request, caller.clone()));
    // Ignores errors, as killed callers break their connections.
    http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok();
}

type Body = StreamBody<BoxStream<'static, Result<Frame<Bytes>, Broken>>>;

fn body(stream: impl stream::Stream<Item = Result<Frame<Bytes>, Broken>> + Send + 'static) -> Body {
    StreamBody::new(stream.boxed())
}

async fn answer(request: Request<Incoming>, caller: Caller) -> Result<Response<Body>, Broken> {
    let (at, wall) = (Instant::now(), SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default());
    let (head, sent) = request.into_parts();
    let sent = sent.collect().await.map_err(|_| Broken)?.to_bytes();
    let text = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let number = text(NUMBER).and_then(|number| number.parse().ok());
    let mut call = Call {
        at,
        wall_ms: u64::try_from(wall.as_millis()).unwrap_or(u64::MAX),
        slot: caller.slot,
        number,
        job: text("dripfeed-job-id").and_then(|id| id.parse().ok()).ok_or(Broken)?,
        attempt: text("dripfeed-attempt").and_then(|attempt| attempt.parse().ok()).ok_or(Broken)?,
        intact: number.is_some_and(|number| caller.shared.jobs.body(number) == sent),
        answer: None,
        answered: None,
        tick: text(SCHEDULE).zip(text("dripfeed-scheduled-for")).map(|(of, tick)| (of.to_owned(), tick.to_owned())),
    };
    let deadly = number.is_some_and(|number| caller.shared.deadly.contains(&number))
        || caller.breakpoints.takes(Step::AfterSend);
    let halfway = !deadly && caller.breakpoints.takes(Step::MidAnswer);
    let throttle =
        caller.shared.throttle.lock().unwrap_or_else(PoisonError::into_inner).take_if(|_| !deadly && !halfway);
    let fixed = throttle.as_ref().map(|_| PlannedAnswer::Throttled);
    let (place, wait) = note(&caller.shared, &mut call, deadly || halfway, fixed);
    let retry_after = throttle.map_or(RETRY_AFTER, |(seconds, notify)| {
        // The receiver may have been dropped.
        notify.send(at).ok();
        seconds
    });
    if deadly {
        caller.breakpoints.kill().await;
        return Err(Broken);
    }
    tokio::time::sleep(wait).await;
    caller.shared.written().calls[place].answered = Some(Instant::now());
    let part = stream::iter([Ok(Frame::data(Bytes::from_static(b"half of an answ")))]);
    if halfway {
        let killed = stream::once(async move {
            caller.breakpoints.kill().await;
            Err(Broken)
        });
        return Ok(Response::new(body(part.chain(killed))));
    }
    match call.answer.expect("one that isn't killed is answered") {
        PlannedAnswer::Ok => Ok(Response::new(body(stream::iter([Ok(Frame::data(Bytes::from_static(b"fed")))])))),
        PlannedAnswer::Failed => Ok(with_status(500)),
        PlannedAnswer::Throttled => {
            let mut answer = with_status(429);
            answer.headers_mut().insert(header::RETRY_AFTER, retry_after.into());
            Ok(answer)
        }
        PlannedAnswer::Silent => std::future::pending().await,
        PlannedAnswer::Cut => Ok(Response::new(body(part.chain(stream::iter([Err(Broken)]))))),
    }
}

fn with_status(status: u16) -> Response<Body> {
    let mut answer = Response::new(body(stream::empty()));
    *answer.status_mut() = status.try_into().expect("a status");
    answer
}

/// Records a call with its answer. Returns its index, and the delay of the answer.
fn note(shared: &Shared, call: &mut Call, deadly: bool, fixed: Option<PlannedAnswer>) -> (usize, Duration) {
    let mut written = shared.written();
    let before = written.per_job.entry(call.job).or_default();
    // A job without a number is answered by the time of its admission.
    let (answer, wait) = shared.jobs.answer(call.number.unwrap_or_else(|| call.job.accepted_ms()), *before);
    *before += 1;
    call.answer = (!deadly).then_some(fixed.unwrap_or(answer));
    let place = written.calls.len();
    written.calls.push(call.clone());
    drop(written);
    shared.count.send_modify(|count| *count += 1);
    (place, Duration::from_millis(wait))
}

/// The connection is closed before the end of the answer.
#[derive(Debug)]
struct Broken;

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the connection is closed in the middle of things")
    }
}

impl std::error::Error for Broken {}
