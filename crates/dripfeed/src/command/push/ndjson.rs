//! Submits a file of jobs in batches, until all are accepted or refused.

use std::cell::OnceCell;
use std::path::Path;
use std::time::Duration;

use dripfeed_client::{BatchSender, ClientError, ItemResult, Retries, SentBatch};
use dripfeed_job::{BucketName, duration, pluralize};
use futures::StreamExt as _;
use serde_json::json;
use tokio::io::AsyncBufRead;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::progress::{Progress, reason};
use super::reader::{Batch, Reader, count_lines, open};
use crate::client::ConnectionArgs;
use crate::exit::{Exit, Failure};
use crate::output::{self, Format};
use crate::signals;

/// The number of concurrent batches.
const CONCURRENT: usize = 4;
/// How long to retry an unreachable server, if it has responded before.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long to wait for the responses to running requests, once the push is stopped.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

pub(super) async fn push(
    bucket: &BucketName,
    file: &Path,
    run_id: Option<String>,
    max_wait: Option<Duration>,
    connection: &ConnectionArgs,
) -> Result<(), Failure> {
    let run_id = run_id.unwrap_or_else(random_name);
    let progress = Progress::of(count_lines(file).await?);
    let max_wait = max_wait.unwrap_or(Retries::LONGEST_WAIT);
    // Waits without limit while the bucket is full.
    let client = connection.server()?.with_retries(Retries::within(Duration::MAX).longest_wait(max_wait));
    let waits = |wait, error: &ClientError| progress.waits(wait, &reason(error));
    let sender = BatchSender::new(client, bucket, waits).outage_timeout(PATIENCE);
    let lines = Reader::new(file, open(file).await?, &run_id, &progress);
    let interrupt = signals::stop()?;
    let stop = interrupt.child_token();
    let push =
        Push { sender, progress: &progress, format: connection.output(), max_wait, stop, failure: OnceCell::new() };
    let is_whole = tokio::select! {
        () = push.all(lines) => true,
        () = push.stop_timeout(&interrupt) => false,
    };
    output::say(progress.summary());
    let failure = push.failure.into_inner();
    let failure = failure.or_else(|| interrupt.is_cancelled().then(|| Failure::new(Exit::Failure, "interrupted")));
    if !is_whole {
        output::say("jobs under way may be accepted, too");
    }
    let has_failed = failure.is_some() || progress.failures() > 0;
    if has_failed && (!is_whole || progress.has_sent()) {
        output::say(format_args!("to resume without duplicates, run the same command with --run-id {run_id}"));
    }
    match (failure, progress.failures()) {
        (Some(failure), _) => Err(failure),
        (None, 0) => Ok(()),
        (None, lines) => Err(Failure::new(Exit::Failure, format!("not submitted: {}", pluralize(lines, "line")))),
    }
}

struct Push<'a, W> {
    sender: BatchSender<W>,
    progress: &'a Progress,
    format: Format,
    max_wait: Duration,
    /// Once cancelled, no further lines are submitted.
    stop: CancellationToken,
    /// Why the push ends before the last line, unless it was interrupted.
    failure: OnceCell<Failure>,
}

impl<W: Fn(Duration, &ClientError)> Push<'_, W> {
    /// Submits all lines. After `stop`, returns once the running requests have responses.
    async fn all(&self, lines: Reader<'_, impl AsyncBufRead + Unpin>) {
        let send = |batch: Result<Batch, Failure>| async move {
            let Batch { lines, items, .. } = batch?;
            Ok((lines, self.sender.send(&items).await))
        };
        let sent = lines.batches().take_until(self.stop.cancelled()).map(send).buffered(CONCURRENT);
        tokio::pin!(sent);
        while let Some(batch) = sent.next().await {
            let reported = batch.and_then(|(lines, batch)| self.report(&lines, batch));
            // Ignores later failures, which may be caused by `stop`.
            if let Err(failure) = reported
                && !self.stop.is_cancelled()
            {
                let _ = self.failure.set(failure);
                self.stop.cancel();
            }
        }
    }

    /// Returns once `STOP_TIMEOUT` has passed after `stop`.
    async fn stop_timeout(&self, interrupt: &CancellationToken) {
        self.stop.cancelled().await;
        self.sender.stop();
        if interrupt.is_cancelled() {
            let most = duration::show(STOP_TIMEOUT);
            self.progress.say(&format!("interrupted: jobs under way are awaited, at most {most}"));
        }
        sleep(STOP_TIMEOUT).await;
    }

    fn report(&self, lines: &[u64], batch: SentBatch) -> Result<(), Failure> {
        if !matches!(batch.error, Some(ClientError::Unreachable { .. } | ClientError::Tls { .. })) {
            self.progress.sent();
        }
        // Counts them before printing, which may fail.
        let accepted = batch.items.iter().filter(|result| matches!(result, ItemResult::Accepted(_)));
        accepted.for_each(|_| self.progress.accepted());
        let items = || lines.iter().zip(&batch.items);
        let mut printed = items().map(|(line, result)| print(*line, result, self.format));
        self.progress.without_bar(|| printed.try_for_each(|printed| printed))?;
        for (line, result) in items() {
            if let ItemResult::Refused(problem) = result {
                self.progress.failed(*line, &problem.to_string());
            }
        }
        // Last, because a batch with an error may have accepted jobs.
        batch.error.map_or(Ok(()), |error| Err(self.failure_of(error)))
    }

    fn failure_of(&self, error: ClientError) -> Failure {
        let wait = error.retry_after().filter(|wait| *wait > self.max_wait);
        let Some(wait) = wait else { return error.into() };
        let (wait, max, why) = (duration::show(wait), duration::show(self.max_wait), reason(&error));
        let message = format!("the server asks to wait {wait}, longer than --max-wait {max}: {why}");
        Failure::new(Failure::from(error).exit, message)
    }
}

fn print(line: u64, result: &ItemResult, format: Format) -> std::io::Result<()> {
    match (format, result) {
        (Format::Table, ItemResult::Accepted(id)) => output::line(id.to_string()),
        (Format::Table, ItemResult::Refused(_)) | (_, ItemResult::Unresolved) => Ok(()),
        (Format::Json, ItemResult::Accepted(id)) => output::line(json!({"line": line, "id": id}).to_string()),
        (Format::Json, ItemResult::Refused(problem)) => {
            output::line(json!({"line": line, "problem": problem.document}).to_string())
        }
    }
}

fn random_name() -> String {
    std::iter::repeat_with(fastrand::alphanumeric).take(12).collect()
}
