//! Reads a file of jobs, in batches.

use std::collections::BTreeSet;
use std::path::Path;

use dripfeed_client::{BATCH_BYTES, BATCH_ITEMS, BatchItem};
use futures::{Stream, stream};
use tokio::fs::File;
use tokio::io::{AsyncBufRead, AsyncBufReadExt as _, BufReader, Split};

use super::line::JobLine;
use super::progress::Progress;
use crate::exit::Failure;

/// Lines of the file, and the jobs in them.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) lines: Vec<u64>,
    pub(super) items: Vec<BatchItem>,
    bytes: usize,
}

/// Reads lines into batches, and reports those without a job.
pub(super) struct Reader<'a, R> {
    lines: Split<R>,
    number: u64,
    run_id: &'a str,
    progress: &'a Progress,
    /// Unknown fields that were reported.
    reported: BTreeSet<String>,
    /// Read, but too large for the batch before.
    next: Option<(u64, BatchItem)>,
}

impl<'a, R: AsyncBufRead + Unpin> Reader<'a, R> {
    pub(super) fn new(input: R, run_id: &'a str, progress: &'a Progress) -> Self {
        Self { lines: input.split(b'\n'), number: 0, run_id, progress, reported: BTreeSet::new(), next: None }
    }

    pub(super) fn batches(self) -> impl Stream<Item = Result<Batch, Failure>> {
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
                    self.report_unknown(&line.others);
                    let key = format!("push-{}-{}", self.run_id, self.number);
                    return Ok(Some((self.number, BatchItem::of_json(&line.item(&key)))));
                }
                Err(why) => self.progress.failed(self.number, &why),
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

pub(super) async fn open(file: &Path) -> Result<Box<dyn AsyncBufRead + Unpin>, Failure> {
    if file == Path::new("-") {
        return Ok(Box::new(BufReader::new(tokio::io::stdin())));
    }
    let opened = File::open(file).await;
    let opened = opened.map_err(|error| anyhow::anyhow!("can't open {}: {error}", file.display()))?;
    Ok(Box::new(BufReader::new(opened)))
}

/// None where it would use up what is to be read.
pub(super) async fn count_lines(file: &Path) -> Result<Option<u64>, Failure> {
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
