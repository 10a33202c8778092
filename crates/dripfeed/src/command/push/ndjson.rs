//! Submits a file of jobs in batches, until all are accepted or refused.

use std::cell::OnceCell;
use std::path::Path;
use std::time::Duration;

use dripfeed_client::{BatchSender, ClientError, ItemResult, Retries, SentBatch};
use dripfeed_job::{BucketName, counted, duration};
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

/// Batches on their way at once.
const AT_ONCE: usize = 4;
/// How long an unreachable server is retried, once it has answered.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long batches on their way are awaited, once it is to end.
const LAST_ANSWERS: Duration = Duration::from_secs(10);

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
    // A full bucket is waited for as long as it has room later.
    let client = connection.server()?.with_retries(Retries::within(Duration::MAX).longest_wait(max_wait));
    let waits = |wait, error: &ClientError| progress.waits(wait, &reason(error));
    let sender = BatchSender::new(client, bucket, waits).patience_once_answered(PATIENCE);
    let lines = Reader::new(file, open(file).await?, &run_id, &progress);
    let interrupt = signals::stop()?;
    let stop = interrupt.child_token();
    let push =
        Push { sender, progress: &progress, format: connection.output(), max_wait, stop, failed: OnceCell::new() };
    let is_whole = tokio::select! {
        () = push.all(lines) => true,
        () = push.last_answers(&interrupt) => false,
    };
    output::say(progress.summary());
    let failed = push.failed.into_inner();
    let failed = failed.or_else(|| interrupt.is_cancelled().then(|| Failure::new(Exit::Failure, "interrupted")));
    if !is_whole {
        output::say("jobs under way may be accepted, too");
    }
    let has_failed = failed.is_some() || progress.failures() > 0;
    if has_failed && (!is_whole || progress.has_sent()) {
        output::say(format_args!("to resume without duplicates, run the same command with --run-id {run_id}"));
    }
    match (failed, progress.failures()) {
        (Some(failure), _) => Err(failure),
        (None, 0) => Ok(()),
        (None, lines) => Err(Failure::new(Exit::Failure, format!("not submitted: {}", counted(lines, "line")))),
    }
}

struct Push<'a, W> {
    sender: BatchSender<W>,
    progress: &'a Progress,
    format: Format,
    max_wait: Duration,
    /// No further line is submitted.
    stop: CancellationToken,
    /// Why it ends before the last line, unless it was interrupted.
    failed: OnceCell<Failure>,
}

impl<W: Fn(Duration, &ClientError)> Push<'_, W> {
    /// Until all lines are submitted, or those under way when it is to stop are answered.
    async fn all(&self, lines: Reader<'_, impl AsyncBufRead + Unpin>) {
        let send = |batch: Result<Batch, Failure>| async move {
            let Batch { lines, items, .. } = batch?;
            Ok((lines, self.sender.send(&items).await))
        };
        let sent = lines.batches().take_until(self.stop.cancelled()).map(send).buffered(AT_ONCE);
        tokio::pin!(sent);
        while let Some(batch) = sent.next().await {
            let reported = batch.and_then(|(lines, batch)| self.report(lines, batch));
            // What fails once it is to stop fails for that.
            if let Err(failure) = reported
                && !self.stop.is_cancelled()
            {
                let _ = self.failed.set(failure);
                self.stop.cancel();
            }
        }
    }

    /// Ends when answers have had their time since it was to stop.
    async fn last_answers(&self, interrupt: &CancellationToken) {
        self.stop.cancelled().await;
        self.sender.stop();
        if interrupt.is_cancelled() {
            let most = duration::show(LAST_ANSWERS);
            self.progress.say(&format!("interrupted: jobs under way are awaited, at most {most}"));
        }
        sleep(LAST_ANSWERS).await;
    }

    fn report(&self, lines: Vec<u64>, batch: SentBatch) -> Result<(), Failure> {
        if !matches!(batch.error, Some(ClientError::Unreachable { .. } | ClientError::Tls { .. })) {
            self.progress.sent();
        }
        // Counted before they are printed, which may fail.
        let accepted = batch.items.iter().filter(|result| matches!(result, ItemResult::Accepted(_)));
        accepted.for_each(|_| self.progress.accepted());
        for (line, result) in lines.into_iter().zip(batch.items) {
            print(line, &result, self.format)?;
            if let ItemResult::Refused(problem) = result {
                self.progress.failed(line, &problem.to_string());
            }
        }
        // Some of its jobs may have been accepted before.
        batch.error.map_or(Ok(()), |error| Err(self.failure(error)))
    }

    fn failure(&self, error: ClientError) -> Failure {
        let asked = error.retry_after().filter(|asked| *asked > self.max_wait);
        let Some(asked) = asked else { return error.into() };
        let (asked, most, why) = (duration::show(asked), duration::show(self.max_wait), reason(&error));
        let message = format!("the server asks to wait {asked}, longer than --max-wait {most}: {why}");
        Failure::new(Failure::from(error).exit, message)
    }
}

fn print(line: u64, result: &ItemResult, format: Format) -> std::io::Result<()> {
    match (format, result) {
        (Format::Table, ItemResult::Accepted(id)) => output::line(id.to_string()),
        (Format::Table, ItemResult::Refused(_)) | (_, ItemResult::Left) => Ok(()),
        (Format::Json, ItemResult::Accepted(id)) => output::line(json!({"line": line, "id": id}).to_string()),
        (Format::Json, ItemResult::Refused(problem)) => {
            output::line(json!({"line": line, "problem": problem.document}).to_string())
        }
    }
}

fn random_name() -> String {
    std::iter::repeat_with(fastrand::alphanumeric).take(12).collect()
}
