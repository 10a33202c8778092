//! Submits a file of jobs in batches, until all are accepted or refused.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use dripfeed_client::{BATCH_BYTES, BATCH_ITEMS, BatchItem, BatchSender, ClientError, ItemResult, Retries};
use dripfeed_job::BucketName;
use futures::{Stream, TryStreamExt as _, stream};
use serde_json::json;
use tokio::fs::File;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, BufReader, Split};

use super::line::JobLine;
use super::progress::Progress;
use crate::client::ConnectionArgs;
use crate::exit::{Exit, Failure};
use crate::output::{self, Format};
use crate::signals;

/// Batches on their way at once.
const AT_ONCE: usize = 4;
/// How long an unreachable server is retried, once it has answered.
const PATIENCE: Duration = Duration::from_secs(60);

/// Lines of the file, and the jobs in them.
#[derive(Debug, Default)]
struct Batch {
    lines: Vec<u64>,
    items: Vec<BatchItem>,
    bytes: usize,
}

pub(super) async fn push(
    bucket: &BucketName,
    file: &Path,
    run_id: Option<String>,
    connection: &ConnectionArgs,
) -> Result<(), Failure> {
    let run_id = run_id.unwrap_or_else(random_name);
    let progress = Progress::of(count_lines(file).await?);
    // A full bucket is waited for however long it takes.
    let client = connection.server()?.with_retries(Retries::within(Duration::MAX));
    let waits = |wait, error: &ClientError| progress.waits(wait, &reason(error));
    let sender = BatchSender::new(client, bucket, waits).patience_once_answered(PATIENCE);
    let lines = Reader::new(open(file).await?, &run_id, &progress);
    let stop = signals::stop()?;
    let pushed = tokio::select! {
        pushed = all(lines, &sender, &progress, connection.output()) => pushed,
        () = stop.cancelled() => Err(Failure::new(Exit::Failure, "interrupted: jobs under way may be accepted, too")),
    };
    output::say(progress.summary());
    if pushed.is_err() || progress.failures() > 0 {
        output::say(format_args!("to resume without duplicates, run the same command with --run-id {run_id}"));
    }
    pushed?;
    match progress.failures() {
        0 => Ok(()),
        failed => Err(Failure::new(Exit::Failure, format!("{failed} lines were not submitted"))),
    }
}

async fn all(
    lines: Reader<'_, impl AsyncBufRead + Unpin>,
    sender: &BatchSender<impl Fn(Duration, &ClientError)>,
    progress: &Progress,
    format: Format,
) -> Result<(), Failure> {
    let send = |Batch { lines, items, .. }| async move { Ok((lines, sender.send(&items).await)) };
    let sent = lines.batches().map_ok(send).try_buffered(AT_ONCE);
    tokio::pin!(sent);
    while let Some((lines, batch)) = sent.try_next().await? {
        // Counted before they are printed, which may fail.
        let accepted = batch.items.iter().filter(|result| matches!(result, ItemResult::Accepted(_)));
        accepted.for_each(|_| progress.accepted());
        for (line, result) in lines.into_iter().zip(batch.items) {
            print(line, &result, format)?;
            if let ItemResult::Refused(problem) = result {
                progress.failed(line, &problem.to_string());
            }
        }
        // Some of its jobs may have been accepted before.
        if let Some(error) = batch.error {
            return Err(error.into());
        }
    }
    Ok(())
}

/// A full bucket is refused item by item.
fn reason(error: &ClientError) -> String {
    match error.problem() {
        Some(problem) if problem.code == "bucket_full" => "the bucket is full".to_owned(),
        Some(problem) => problem.to_string(),
        None => error.to_string(),
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

/// Reads lines into batches, and reports those without a job.
struct Reader<'a, R> {
    lines: Split<R>,
    number: u64,
    run_id: &'a str,
    progress: &'a Progress,
    /// Unknown fields that were reported.
    told: BTreeSet<String>,
    /// Read, but too large for the batch before.
    next: Option<(u64, BatchItem)>,
}

impl<'a, R: AsyncBufRead + Unpin> Reader<'a, R> {
    fn new(input: R, run_id: &'a str, progress: &'a Progress) -> Self {
        Self { lines: input.split(b'\n'), number: 0, run_id, progress, told: BTreeSet::new(), next: None }
    }

    fn batches(self) -> impl Stream<Item = Result<Batch, Failure>> {
        stream::try_unfold(self, |mut reader| async move {
            let batch = reader.batch().await?;
            Ok((!batch.items.is_empty()).then_some((batch, reader)))
        })
    }

    async fn batch(&mut self) -> Result<Batch, Failure> {
        let mut batch = Batch::default();
        while batch.items.len() < BATCH_ITEMS {
            let Some((line, item)) = self.item().await? else { break };
            batch.bytes += item.as_str().len();
            if batch.bytes > BATCH_BYTES && !batch.items.is_empty() {
                self.next = Some((line, item));
                break;
            }
            batch.lines.push(line);
            batch.items.push(item);
        }
        Ok(batch)
    }

    async fn item(&mut self) -> Result<Option<(u64, BatchItem)>, Failure> {
        if let Some(item) = self.next.take() {
            return Ok(Some(item));
        }
        while let Some(text) = self.lines.next_segment().await? {
            self.number += 1;
            if text.trim_ascii().is_empty() {
                continue;
            }
            let text = std::str::from_utf8(&text).map_err(|_| "is not UTF-8".to_owned());
            match text.and_then(JobLine::parse) {
                Ok(line) => {
                    self.tell_others(&line.others);
                    let key = format!("push-{}-{}", self.run_id, self.number);
                    return Ok(Some((self.number, BatchItem::of_json(&line.item(&key)))));
                }
                Err(why) => self.progress.failed(self.number, &why),
            }
        }
        Ok(None)
    }

    fn tell_others(&mut self, others: &[String]) {
        for name in others {
            if self.told.insert(name.clone()) {
                self.progress.say(&format!("ignoring unknown field `{name}`: only `body` and `options` are submitted"));
            }
        }
    }
}

async fn open(file: &Path) -> Result<Box<dyn AsyncBufRead + Unpin>, Failure> {
    if file == Path::new("-") {
        return Ok(Box::new(BufReader::new(tokio::io::stdin())));
    }
    let opened = File::open(file).await;
    let opened = opened.map_err(|error| anyhow::anyhow!("can't open {}: {error}", file.display()))?;
    Ok(Box::new(BufReader::new(opened)))
}

/// None where it would use up what is to be read.
async fn count_lines(file: &Path) -> Result<Option<u64>, Failure> {
    if !tokio::fs::metadata(file).await.is_ok_and(|metadata| metadata.is_file()) {
        return Ok(None);
    }
    let mut lines = open(file).await?.split(b'\n');
    let mut count = 0;
    while let Some(line) = lines.next_segment().await? {
        count += u64::from(!line.trim_ascii().is_empty());
    }
    Ok(Some(count))
}

fn random_name() -> String {
    std::iter::repeat_with(fastrand::alphanumeric).take(12).collect()
}
