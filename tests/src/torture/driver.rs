//! The load of a run: callers that submit one job after the other, at both intakes.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use dripfeed_job::JobId;
use futures::future::join_all;
use http::Method;
use tokio::sync::{Mutex, watch};
use tokio::task::JoinSet;

use super::jobs::Jobs;
use super::ledger::{Fate, Ledger};
use super::process_slot::ProcessSlot;
use super::upstream::NUMBER;
use crate::client::{Client, ClientResponse};
use crate::service::PATIENCE;

const CALLERS: usize = 24;
/// Pause of a caller before the next try, after a refusal or no answer.
const PAUSE: Duration = Duration::from_millis(25);

#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The minimum number of jobs; more are submitted until the faults are over.
    pub jobs: u64,
    /// Jobs per second until the faults are over.
    pub per_second: u32,
}

pub struct Driver {
    faults_over: Arc<AtomicBool>,
    progress: watch::Receiver<u64>,
    statuses: Statuses,
    callers: JoinSet<()>,
}

/// The number of answers by status.
type Statuses = Arc<std::sync::Mutex<BTreeMap<u16, u64>>>;

struct Caller {
    load: Load,
    bucket: &'static str,
    jobs: Jobs,
    ledger: Ledger,
    intakes: Vec<ProcessSlot>,
    faults_over: Arc<AtomicBool>,
    progress: watch::Sender<u64>,
    statuses: Statuses,
    /// When the next job may be submitted.
    next: Mutex<Instant>,
}

impl Driver {
    pub fn start(load: Load, bucket: &'static str, jobs: Jobs, ledger: Ledger, intakes: Vec<ProcessSlot>) -> Self {
        let faults_over = Arc::new(AtomicBool::new(false));
        let (progress, seen) = watch::channel(0);
        let statuses = Statuses::default();
        let caller = Arc::new(Caller {
            load,
            bucket,
            jobs,
            ledger,
            intakes,
            faults_over: Arc::clone(&faults_over),
            progress,
            statuses: Arc::clone(&statuses),
            next: Mutex::new(Instant::now()),
        });
        let mut callers = JoinSet::new();
        for name in 0..CALLERS {
            let caller = Arc::clone(&caller);
            callers.spawn(async move { caller.run(name).await });
        }
        Self { faults_over, progress: seen, statuses, callers }
    }

    /// Waits until this many jobs have been submitted.
    pub async fn reached(&self, jobs: u64) {
        self.progress.clone().wait_for(|done| *done >= jobs).await.expect("the driver runs");
    }

    /// Submits the rest of the jobs as fast as possible, and waits for its end.
    pub async fn finish(self) {
        self.faults_over.store(true, Ordering::SeqCst);
        self.callers.join_all().await;
    }

    /// The number of answers with this status.
    pub fn answered(&self, status: u16) -> u64 {
        self.statuses.lock().unwrap_or_else(PoisonError::into_inner).get(&status).copied().unwrap_or_default()
    }
}

impl Caller {
    async fn run(&self, name: usize) {
        loop {
            let hurried = self.faults_over.load(Ordering::SeqCst);
            if self.ledger.len() as u64 >= self.load.jobs && hurried {
                return;
            }
            if !hurried {
                self.turn().await;
            }
            let number = self.ledger.open(|number| self.jobs.key(number).is_some());
            self.submit(number, name).await;
            self.progress.send_modify(|done| *done = (*done).max(number));
        }
    }

    /// Waits until the next job may be submitted.
    async fn turn(&self) {
        let mut next = self.next.lock().await;
        *next = (*next + Duration::from_secs(1) / self.load.per_second).max(Instant::now());
        let until = *next;
        drop(next);
        tokio::time::sleep_until(until.into()).await;
    }

    /// Submits a job until its result is known. It stays unknown without an idempotency key, as the job can't be
    /// submitted again, and for some jobs with a key.
    async fn submit(&self, number: u64, name: usize) {
        let key = self.jobs.key(number);
        let mut draw = self.jobs.draw(number, 3);
        let (persistent, gives_up) = (draw.u8(0..4) > 0, draw.u8(0..10) == 0);
        let mut doubt = false;
        for round in 0.. {
            let Some(client) = self.intakes[(name + round) % self.intakes.len()].client() else {
                tokio::time::sleep(PAUSE).await;
                continue;
            };
            match self.call(&client, number, key.as_deref()).await {
                SubmitResult::Stored(id) => return self.ledger.close(number, Fate::Stored(id)),
                SubmitResult::NotStored { full } if gives_up && !full && !doubt => {
                    return self.ledger.close(number, Fate::SurelyNotStored);
                }
                SubmitResult::NotStored { .. } => {}
                SubmitResult::Unknown => {
                    self.ledger.unknown_try(number);
                    if key.is_none() || !persistent {
                        return self.ledger.close(number, Fate::Unknown);
                    }
                    doubt = true;
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    async fn call(&self, client: &Client, number: u64, key: Option<&str>) -> SubmitResult {
        let path = format!("/v1/buckets/{}/jobs", self.bucket);
        let mut request = client.request(Method::POST, &path).header(format!("dripfeed-forward-{NUMBER}"), number);
        request = request.header("dripfeed-group", self.jobs.group(number));
        if let Some(priority) = self.jobs.priority(number) {
            request = request.header("dripfeed-priority", priority);
        }
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        match client.call(request, self.jobs.body(number)).await {
            Ok(answer) => {
                let mut statuses = self.statuses.lock().unwrap_or_else(PoisonError::into_inner);
                *statuses.entry(answer.status).or_default() += 1;
                SubmitResult::by(&answer)
            }
            Err(_) => SubmitResult::Unknown,
        }
    }
}

enum SubmitResult {
    Stored(JobId),
    NotStored { full: bool },
    Unknown,
}

impl SubmitResult {
    fn by(answer: &ClientResponse) -> Self {
        match answer.status {
            202 => Self::Stored(answer.text("id").parse().expect("an id")),
            429 => Self::NotStored { full: true },
            507 => Self::NotStored { full: false },
            503 if answer.text("code") == "draining" => Self::NotStored { full: false },
            503 => match answer.text("outcome").as_str() {
                "not_stored" => Self::NotStored { full: false },
                "unknown" => Self::Unknown,
                other => panic!("an outcome that isn't in the contract: {other}"),
            },
            _ => panic!("a good submission was answered {answer:?}"),
        }
    }
}

/// Repeats a call until it isn't answered with a timeout of Redis, which a stalled machine may cause.
pub async fn answered<F: Future<Output = Result<ClientResponse, String>>>(ask: impl Fn() -> F) -> ClientResponse {
    let begun = Instant::now();
    loop {
        let answer = ask().await.expect("an answer");
        if answer.status != 503 || begun.elapsed() > PATIENCE {
            return answer;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Waits until all slots are ready.
pub async fn all_ready(slots: &[ProcessSlot]) {
    join_all(slots.iter().map(ProcessSlot::ready)).await;
}
