//! Reads a file of jobs in batches.

use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::time::Duration;

use dripfeed_client::{BATCH_BYTES, BATCH_ITEMS, BatchItem};
use dripfeed_job::size;
use futures::{Stream, stream};
use tokio::fs::File;
use tokio::io::{AsyncBufRead, BufReader};
use tokio::time::{Instant, timeout_at};

use super::line::JobLine;
use super::lines::{Line, Lines, MAX_LINE};
use super::progress::Progress;
use crate::exit::Failure;

/// How long an incomplete batch waits for further lines, which may arrive one by one from a pipe.
const MAX_DELAY: Duration = Duration::from_millis(100);

/// Jobs, and the numbers of their lines.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) lines: Vec<u64>,
    pub(super) items: Vec<BatchItem>,
    bytes: usize,
}

/// Reads lines into batches, and reports those without a job.
pub(super) struct Reader<'a, R> {
    file: &'a Path,
    lines: Lines<R>,
    run_id: &'a str,
    progress: &'a Progress,
    /// Unknown fields that were reported.
    reported: BTreeSet<String>,
    /// A job that was read, but didn't fit into the previous batch.
    next: Option<(u64, BatchItem)>,
}

impl<'a, R: AsyncBufRead + Unpin> Reader<'a, R> {
    pub(super) fn new(file: &'a Path, input: R, run_id: &'a str, progress: &'a Progress) -> Self {
        Self { file, lines: Lines::new(input), run_id, progress, reported: BTreeSet::new(), next: None }
    }

    pub(super) fn batches(self) -> impl Stream<Item = Result<Batch, Failure>> {
        stream::try_unfold(self, |mut reader| async move {
            let batch = reader.batch().await?;
            Ok((!batch.items.is_empty()).then_some((batch, reader)))
        })
    }

    async fn batch(&mut self) -> Result<Batch, Failure> {
        let mut batch = Batch::default();
        let Some(first) = self.item().await? else { return Ok(batch) };
        batch.add(first);
        let end = Instant::now() + MAX_DELAY;
        while batch.items.len() < BATCH_ITEMS {
            // A partly read line stays in the reader after a timeout.
            let Ok(item) = timeout_at(end, self.item()).await else { break };
            let Some((line, item)) = item? else { break };
            if batch.bytes + item.as_str().len() > BATCH_BYTES {
                self.next = Some((line, item));
                break;
            }
            batch.add((line, item));
        }
        Ok(batch)
    }

    async fn item(&mut self) -> Result<Option<(u64, BatchItem)>, Failure> {
        if let Some(item) = self.next.take() {
            return Ok(Some(item));
        }
        while let Some((number, line)) = self.lines.next().await.map_err(|error| unreadable(self.file, &error))? {
            if line.is_blank() {
                continue;
            }
            let text = match &line {
                Line::Read(text) => std::str::from_utf8(text).map_err(|_| "is not UTF-8".to_owned()),
                Line::TooLong => Err(format!("has more than {}", size::show(MAX_LINE as u64))),
            };
            match text.and_then(JobLine::parse) {
                Ok(line) => {
                    self.report_unknown(&line.others);
                    let key = format!("push-{}-{number}", self.run_id);
                    return Ok(Some((number, BatchItem::of_json(&line.item(&key)))));
                }
                Err(why) => self.progress.failed(number, &why),
            }
        }
        Ok(None)
    }

    fn report_unknown(&mut self, others: &[String]) {
        for name in others {
            if self.reported.insert(name.clone()) {
                self.progress.say(&format!("ignoring unknown field `{name}`: only `body` and `options` are submitted"));
            }
        }
    }
}

impl Batch {
    fn add(&mut self, (line, item): (u64, BatchItem)) {
        self.bytes += item.as_str().len();
        self.lines.push(line);
        self.items.push(item);
    }
}

pub(super) async fn open(file: &Path) -> Result<Box<dyn AsyncBufRead + Unpin>, Failure> {
    if file == Path::new("-") {
        return Ok(Box::new(BufReader::new(tokio::io::stdin())));
    }
    let opened = File::open(file).await;
    let opened = opened.map_err(|error| anyhow::anyhow!("can't open {}: {error}", file.display()))?;
    Ok(Box::new(BufReader::new(opened)))
}

/// Returns `None` for pipes and standard input, which can be read only once.
pub(super) async fn count_lines(file: &Path) -> Result<Option<u64>, Failure> {
    if !tokio::fs::metadata(file).await.is_ok_and(|metadata| metadata.is_file()) {
        return Ok(None);
    }
    let mut lines = Lines::new(open(file).await?);
    let mut count = 0;
    while let Some((_, line)) = lines.next().await.map_err(|error| unreadable(file, &error))? {
        count += u64::from(!line.is_blank());
    }
    Ok(Some(count))
}

fn unreadable(file: &Path, error: &io::Error) -> Failure {
    let name = if file == Path::new("-") { "standard input".into() } else { file.display().to_string() };
    anyhow::anyhow!("can't read {name}: {error}").into()
}
