//! Submits a batch. Jobs that were refused for now, or whose outcome is unknown, are sent again until each is accepted
//! or refused permanently. Every item has an idempotency key, so none becomes two jobs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use dripfeed_job::BucketName;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use serde_json::Value as Json;

use super::progress::Progress;
use crate::client::{Problem, RequestError, Server};
use crate::exit::Failure;

/// How long an unreachable server is retried, once it has answered.
const PATIENCE: Duration = Duration::from_secs(60);
/// Between tries, when nobody says how long to wait; and the least, even if the server says less.
const USUAL_WAIT: Duration = Duration::from_secs(1);
const LEAST_WAIT: Duration = Duration::from_millis(20);

pub(super) type Batch = Vec<PushItem>;

/// A job as a batch holds it.
#[derive(Debug)]
pub(super) struct PushItem {
    /// Where it stands in the file, from 1.
    pub(super) line: u64,
    pub(super) text: String,
}

#[derive(Debug)]
pub(super) enum ItemResult {
    /// The job's id.
    Accepted(String),
    Refused(Problem),
}

pub(super) struct Sender<'a> {
    server: Server,
    path: String,
    progress: &'a Progress,
    /// The server has answered before: when it can't be reached, that may pass.
    answered: AtomicBool,
}

/// What became of one try.
enum SendResult {
    Judged(Vec<Json>),
    /// Too much for one call.
    TooLarge(Problem),
    Later(Duration, String),
}

impl<'a> Sender<'a> {
    pub(super) fn new(server: Server, bucket: &BucketName, progress: &'a Progress) -> Self {
        let path = format!("/v1/buckets/{bucket}/jobs/batch");
        Self { server, path, progress, answered: AtomicBool::new(false) }
    }

    /// How each line ended, in their order.
    ///
    /// # Errors
    /// When the server refuses the whole for good, or stays away.
    pub(super) async fn send(&self, batch: Batch) -> Result<Vec<(u64, ItemResult)>, Failure> {
        let mut ended = Vec::with_capacity(batch.len());
        let mut waiting = batch;
        // What one call can carry, and what there was room for lately.
        let (mut fits, mut room) = (waiting.len(), waiting.len());
        let mut silent_since = None;
        while !waiting.is_empty() {
            let rest = waiting.split_off(fits.min(room).min(waiting.len()));
            let tried = self.attempt(&waiting, &mut silent_since).await?;
            let wait = match tried {
                SendResult::Judged(judged) => {
                    let asked = waiting.len();
                    let (later, wait) = sort(waiting, judged, &mut ended);
                    // A full bucket isn't asked again for all that it has just refused.
                    room = if later.is_empty() { room.saturating_mul(2) } else { (asked - later.len()).max(1) };
                    waiting = later;
                    wait.map(|wait| (wait, "the bucket is full".to_owned()))
                }
                SendResult::TooLarge(problem) if waiting.len() == 1 => {
                    ended.extend(waiting.drain(..).map(|item| (item.line, ItemResult::Refused(problem.clone()))));
                    None
                }
                SendResult::TooLarge(_) => {
                    fits = waiting.len().div_ceil(2);
                    None
                }
                SendResult::Later(wait, why) => Some((wait, why)),
            };
            waiting.extend(rest);
            if let Some((wait, why)) = wait {
                self.progress.waits(wait, &why);
                tokio::time::sleep(wait.max(LEAST_WAIT)).await;
            }
        }
        ended.sort_by_key(|(line, _)| *line);
        Ok(ended)
    }

    async fn attempt(&self, items: &[PushItem], silent_since: &mut Option<Instant>) -> Result<SendResult, Failure> {
        let body: String = items.iter().flat_map(|item| [item.text.as_str(), "\n"]).collect();
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/x-ndjson"))]);
        match self.server.call(Method::POST, &self.path, headers, Bytes::from(body)).await {
            Ok(answer) => {
                *silent_since = None;
                self.answered.store(true, Ordering::Relaxed);
                judgements(answer.json()?).map(SendResult::Judged)
            }
            Err(RequestError::Refused(problem)) if problem.document["items"].is_array() => {
                *silent_since = None;
                judgements(problem.document).map(SendResult::Judged)
            }
            Err(RequestError::Refused(problem)) if problem.status == StatusCode::PAYLOAD_TOO_LARGE => {
                Ok(SendResult::TooLarge(*problem))
            }
            Err(error) => self.again(error, silent_since),
        }
    }

    /// Whether to try again after an error, and when.
    fn again(&self, error: RequestError, silent_since: &mut Option<Instant>) -> Result<SendResult, Failure> {
        let silent_for = silent_since.get_or_insert_with(Instant::now).elapsed();
        let wait = match &error {
            RequestError::Refused(problem) => {
                self.answered.store(true, Ordering::Relaxed);
                problem.retry_after.unwrap_or(USUAL_WAIT)
            }
            _ => USUAL_WAIT,
        };
        if error.is_for_now() && self.answered.load(Ordering::Relaxed) && silent_for < PATIENCE {
            return Ok(SendResult::Later(wait, error.to_string()));
        }
        Err(error.into())
    }
}

fn judgements(mut document: Json) -> Result<Vec<Json>, Failure> {
    match document["items"].take() {
        Json::Array(items) => Ok(items),
        _ => Err(anyhow::anyhow!(
            "unexpected response to a batch: no `items`; does --server point to a dripfeed intake?"
        )
        .into()),
    }
}

/// Adds to `ended` what is settled; returns what is to be sent again, and when.
fn sort(items: Batch, judged: Vec<Json>, ended: &mut Vec<(u64, ItemResult)>) -> (Batch, Option<Duration>) {
    let mut later = Batch::new();
    let mut wait: Option<Duration> = None;
    let mut judged = judged.into_iter();
    for item in items {
        // An item without a judgement has an unknown fate: its key makes it safe to send again.
        let mut judgement = judged.next().unwrap_or_default();
        if let Json::String(id) = judgement["id"].take() {
            ended.push((item.line, ItemResult::Accepted(id)));
            continue;
        }
        let status = judgement["status"].as_u64().and_then(|status| u16::try_from(status).ok());
        let status =
            status.and_then(|status| StatusCode::from_u16(status).ok()).unwrap_or(StatusCode::SERVICE_UNAVAILABLE);
        let problem = Problem::of_document(status, judgement["problem"].take());
        if problem.is_for_now() {
            // The first of them to have room again is worth a try.
            let asked = problem.retry_after.unwrap_or(USUAL_WAIT);
            wait = Some(wait.map_or(asked, |wait| wait.min(asked)));
            later.push(item);
        } else {
            ended.push((item.line, ItemResult::Refused(problem)));
        }
    }
    (later, wait)
}
