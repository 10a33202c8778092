//! Sends batches of jobs. Items that were refused temporarily, or whose result is unknown, are sent again until each is
//! accepted or permanently refused.

pub(crate) mod item;
pub(crate) mod sent;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use dripfeed_job::BucketName;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde::Deserialize;
use serde_json::Value as Json;
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use crate::backoff::backoff;
use crate::batch::item::BatchItem;
use crate::batch::sent::{DEFAULT_WAIT, SentBatch, record_results, wait_of};
use crate::client::Client;
use crate::client_error::ClientError;
use crate::problem::Problem;

/// Minimum wait between tries, even if the server's `Retry-After` is shorter.
const MIN_WAIT: Duration = Duration::from_millis(20);

/// Sends batches to a bucket, possibly in parallel. Each item should have an idempotency key, because unanswered
/// batches are sent again.
pub struct BatchSender<W> {
    client: Client,
    path: String,
    on_wait: W,
    /// How long tries without an answer are continued.
    patience: Duration,
    /// Whether the server has answered a request of this sender: only then is a missing answer retried.
    answered: AtomicBool,
    stopped: watch::Sender<bool>,
}

/// The result of one try.
enum TryResult {
    /// One result for each item.
    Answered(Vec<Json>),
    /// The batch is larger than an intake accepts in one request.
    TooLarge(Problem),
    Later(Duration, ClientError),
}

#[derive(Deserialize)]
struct BatchAnswer {
    items: Vec<Json>,
}

/// The tries of one batch so far.
struct Tries {
    started: Instant,
    /// Consecutive tries without a settled item.
    failures: u32,
    /// Since when the server hasn't answered.
    silent_since: Option<Instant>,
}

impl<W: Fn(Duration, &ClientError)> BatchSender<W> {
    /// Uses the retries of `client`. Calls `on_wait` before each wait, with its length and reason.
    pub fn new(client: Client, bucket: &BucketName, on_wait: W) -> Self {
        let path = format!("/v1/buckets/{bucket}/jobs/batch");
        let (answered, stopped) = (AtomicBool::new(true), watch::Sender::new(false));
        Self { client, path, on_wait, patience: Duration::MAX, answered, stopped }
    }

    /// Gives up on a server that hasn't answered for `patience`, and at once on one that never has.
    #[must_use]
    pub fn outage_timeout(self, patience: Duration) -> Self {
        Self { patience, answered: AtomicBool::new(false), ..self }
    }

    /// Starts no further try, and ends the waits between tries. [`send`](Self::send) still waits for the answers to
    /// requests in flight, and returns which items were accepted.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
    }

    /// Sends `items`, and retries until each is accepted or permanently refused, the time of the retries is over, or
    /// the sender is stopped.
    pub async fn send(&self, items: &[BatchItem]) -> SentBatch {
        let mut sent = SentBatch::of(items.len());
        let mut waiting: Vec<usize> = (0..items.len()).collect();
        // The most items that fit into one request, and for which the bucket had room at the last try.
        let (mut fits, mut room) = (waiting.len(), waiting.len());
        let mut tries = Tries { started: Instant::now(), failures: 0, silent_since: None };
        while !waiting.is_empty() {
            if *self.stopped.borrow() {
                return sent.failed(ClientError::Stopped);
            }
            let rest = waiting.split_off(fits.min(room).min(waiting.len()));
            let result = match self.attempt(items, &waiting, &mut tries).await {
                Ok(result) => result,
                Err(error) => return sent.failed(error),
            };
            let retry = match result {
                TryResult::Answered(results) => {
                    let tried = waiting.len();
                    let (left, retry) = record_results(&waiting, results, &mut sent.items);
                    // To a full bucket, the next request sends only as many items as it had room for.
                    room = if left.is_empty() { room.saturating_mul(2) } else { (tried - left.len()).max(1) };
                    tries.failures = if left.len() < tried { 0 } else { tries.failures };
                    waiting = left;
                    retry.map(|problem| (wait_of(&problem), problem.into()))
                }
                TryResult::TooLarge(problem) if waiting.len() == 1 => {
                    waiting.drain(..).for_each(|index| sent.refuse(index, problem.clone()));
                    None
                }
                TryResult::TooLarge(_) => {
                    fits = waiting.len().div_ceil(2);
                    None
                }
                TryResult::Later(wait, error) => Some((wait, error)),
            };
            waiting.extend(rest);
            if let Some((wait, error)) = retry {
                let wait = if wait.is_zero() { backoff(None, tries.failures, fastrand::f64()) } else { wait };
                let wait = wait.max(MIN_WAIT);
                tries.failures += 1;
                if !self.client.retries.allow(tries.failures, tries.started, wait, error.retry_after()) {
                    return sent.failed(error);
                }
                (self.on_wait)(wait, &error);
                // Ends early when the sender is stopped.
                let _ = timeout(wait, self.stopped.subscribe().wait_for(|stopped| *stopped)).await;
            }
        }
        sent
    }

    /// Sends the items at the indices `tried` once.
    async fn attempt(&self, items: &[BatchItem], tried: &[usize], tries: &mut Tries) -> Result<TryResult, ClientError> {
        let lines = tried.iter().filter_map(|index| items.get(*index));
        let body: String = lines.flat_map(|item| [item.as_str(), "\n"]).collect();
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"))]);
        let time = self.client.retries.time_of_try(tries.started, true);
        match self.client.call_within(time, Method::POST, &self.path, headers, Bytes::from(body)).await {
            Ok(answer) => {
                self.on_answer(tries);
                answer.json::<BatchAnswer>().map(|answer| TryResult::Answered(answer.items))
            }
            Err(ClientError::Refused(mut problem)) if problem.document["items"].is_array() => {
                self.on_answer(tries);
                let Json::Array(items) = problem.document["items"].take() else { return Err((*problem).into()) };
                Ok(TryResult::Answered(items))
            }
            Err(ClientError::Refused(problem)) if problem.status == StatusCode::PAYLOAD_TOO_LARGE => {
                Ok(TryResult::TooLarge(*problem))
            }
            Err(error) => self.on_error(error, tries),
        }
    }

    fn on_answer(&self, tries: &mut Tries) {
        tries.silent_since = None;
        self.answered.store(true, Ordering::Relaxed);
    }

    /// Returns the wait before the next try, or the error if it must not be retried.
    fn on_error(&self, error: ClientError, tries: &mut Tries) -> Result<TryResult, ClientError> {
        if error.is_answered() {
            self.on_answer(tries);
        }
        let silent_for = tries.silent_since.get_or_insert_with(Instant::now).elapsed();
        if error.is_retryable() && self.answered.load(Ordering::Relaxed) && silent_for < self.patience {
            return Ok(TryResult::Later(error.retry_after().unwrap_or(DEFAULT_WAIT), error));
        }
        Err(error)
    }
}
