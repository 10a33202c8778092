//! A batch of jobs. Items that were refused for now, or whose outcome is unknown, are sent again until each is accepted
//! or permanently refused.

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
use crate::batch::sent::{SentBatch, USUAL_WAIT, judged, wait_of};
use crate::client::Client;
use crate::client_error::ClientError;
use crate::problem::Problem;

/// Between tries, even if the server says less.
const LEAST_WAIT: Duration = Duration::from_millis(20);

/// Sends batches to a bucket, possibly in parallel. Each item should have an idempotency key, because unanswered
/// batches are sent again.
pub struct BatchSender<W> {
    client: Client,
    path: String,
    on_wait: W,
    /// How long a server may fail to answer.
    patience: Duration,
    /// The server has answered before: when it can't be reached, that may pass.
    answered: AtomicBool,
    stopped: watch::Sender<bool>,
}

/// What became of one try.
enum Tried {
    Judged(Vec<Json>),
    /// Too large for one request.
    TooLarge(Problem),
    Later(Duration, ClientError),
}

#[derive(Deserialize)]
struct Judgements {
    items: Vec<Json>,
}

/// How long the tries of one batch have lasted.
struct Course {
    begun: Instant,
    /// In a row, without an item that was settled.
    failures: u32,
    silent_since: Option<Instant>,
}

impl<W: Fn(Duration, &ClientError)> BatchSender<W> {
    /// Uses the retries of `client`. `on_wait` is called before each wait, with its reason.
    pub fn new(client: Client, bucket: &BucketName, on_wait: W) -> Self {
        let path = format!("/v1/buckets/{bucket}/jobs/batch");
        let (answered, stopped) = (AtomicBool::new(true), watch::Sender::new(false));
        Self { client, path, on_wait, patience: Duration::MAX, answered, stopped }
    }

    /// Gives up on a server that hasn't answered for `patience`, and at once on one that never has.
    #[must_use]
    pub fn patience_once_answered(self, patience: Duration) -> Self {
        Self { patience, answered: AtomicBool::new(false), ..self }
    }

    /// Begins no further try and ends the waits between tries. Batches on their way are still awaited, so that
    /// [`send`](Self::send) returns what was accepted.
    pub fn stop(&self) {
        self.stopped.send_replace(true);
    }

    /// Retries until each item is accepted or permanently refused, the time is over, or it is stopped.
    pub async fn send(&self, items: &[BatchItem]) -> SentBatch {
        let mut sent = SentBatch::of(items.len());
        let mut waiting: Vec<usize> = (0..items.len()).collect();
        // What one call can carry, and what there was room for lately.
        let (mut fits, mut room) = (waiting.len(), waiting.len());
        let mut course = Course { begun: Instant::now(), failures: 0, silent_since: None };
        while !waiting.is_empty() {
            if *self.stopped.borrow() {
                return sent.failed(ClientError::Stopped);
            }
            let rest = waiting.split_off(fits.min(room).min(waiting.len()));
            let tried = match self.attempt(items, &waiting, &mut course).await {
                Ok(tried) => tried,
                Err(error) => return sent.failed(error),
            };
            let later = match tried {
                Tried::Judged(judgements) => {
                    let asked = waiting.len();
                    let (left, later) = judged(&waiting, judgements, &mut sent.items);
                    // A full bucket isn't asked again for all that it has just refused.
                    room = if left.is_empty() { room.saturating_mul(2) } else { (asked - left.len()).max(1) };
                    course.failures = if left.len() < asked { 0 } else { course.failures };
                    waiting = left;
                    later.map(|problem| (wait_of(&problem), problem.into()))
                }
                Tried::TooLarge(problem) if waiting.len() == 1 => {
                    waiting.drain(..).for_each(|index| sent.refuse(index, problem.clone()));
                    None
                }
                Tried::TooLarge(_) => {
                    fits = waiting.len().div_ceil(2);
                    None
                }
                Tried::Later(wait, error) => Some((wait, error)),
            };
            waiting.extend(rest);
            if let Some((wait, error)) = later {
                let wait = if wait.is_zero() { backoff(None, course.failures, fastrand::f64()) } else { wait };
                let wait = wait.max(LEAST_WAIT);
                course.failures += 1;
                if !self.client.retries.allow(course.failures, course.begun, wait, error.retry_after()) {
                    return sent.failed(error);
                }
                (self.on_wait)(wait, &error);
                // Over, or stopped.
                let _ = timeout(wait, self.stopped.subscribe().wait_for(|stopped| *stopped)).await;
            }
        }
        sent
    }

    async fn attempt(&self, items: &[BatchItem], asked: &[usize], course: &mut Course) -> Result<Tried, ClientError> {
        let lines = asked.iter().filter_map(|index| items.get(*index));
        let body: String = lines.flat_map(|item| [item.as_str(), "\n"]).collect();
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"))]);
        let time = self.client.retries.time_of_try(course.begun, true);
        match self.client.call_within(time, Method::POST, &self.path, headers, Bytes::from(body)).await {
            Ok(answer) => {
                self.answered(course);
                answer.json::<Judgements>().map(|judgements| Tried::Judged(judgements.items))
            }
            Err(ClientError::Refused(mut problem)) if problem.document["items"].is_array() => {
                self.answered(course);
                let Json::Array(items) = problem.document["items"].take() else { return Err((*problem).into()) };
                Ok(Tried::Judged(items))
            }
            Err(ClientError::Refused(problem)) if problem.status == StatusCode::PAYLOAD_TOO_LARGE => {
                Ok(Tried::TooLarge(*problem))
            }
            Err(error) => self.again(error, course),
        }
    }

    fn answered(&self, course: &mut Course) {
        course.silent_since = None;
        self.answered.store(true, Ordering::Relaxed);
    }

    /// Whether to try again after an error, and when.
    fn again(&self, error: ClientError, course: &mut Course) -> Result<Tried, ClientError> {
        if error.is_answered() {
            self.answered(course);
        }
        let silent_for = course.silent_since.get_or_insert_with(Instant::now).elapsed();
        if error.is_retryable() && self.answered.load(Ordering::Relaxed) && silent_for < self.patience {
            return Ok(Tried::Later(error.retry_after().unwrap_or(USUAL_WAIT), error));
        }
        Err(error)
    }
}
