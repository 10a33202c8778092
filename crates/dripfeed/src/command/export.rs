//! `export` of dead letters, outcomes and jobs to standard output, page by page, in bounded memory. The members and
//! headers in `intake.redact` are masked. Payloads need a key with the scope `inspect`.

mod csv;
mod progress;

use std::io::{self, BufWriter, Write as _};
use std::time::Duration;

use clap::{Args, ValueEnum};
use dripfeed_client::{Client, Retries};
use dripfeed_job::BucketName;
use serde_json::Value as Json;

use self::progress::Progress;
use crate::client::ConnectionArgs;
use crate::exit::{Exit, Failure};
use crate::output;

pub(super) use self::csv::CsvColumn;

/// How long a page is retried after the first one was written, so that a restart of the intake doesn't end the export.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Args, Clone, Copy, Debug)]
pub(super) struct ExportArgs {
    /// NDJSON: one JSON document per line; CSV: with a header line, and an apostrophe before texts that a spreadsheet
    /// would take for a formula
    #[arg(long, value_enum, default_value_t = ExportFormat::Ndjson)]
    format: ExportFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    Ndjson,
    Csv,
}

/// What to export.
pub(super) struct Exported<'a> {
    pub(super) path: &'a str,
    pub(super) filters: Vec<(&'a str, String)>,
    pub(super) columns: &'a [CsvColumn],
    /// The approximate number of items, if known, for the progress bar.
    pub(super) about: Option<u64>,
}

/// # Errors
/// When `--output` is given, because an export uses `--format`.
pub(super) fn refuse_output(connection: &ConnectionArgs) -> Result<(), Failure> {
    if !connection.has_output() {
        return Ok(());
    }
    let message = "`export` has no use for --output: choose the form with --format, and a file with `> FILE`";
    Err(Failure::new(Exit::Usage, message))
}

/// # Errors
/// When a page can't be read or written. Earlier pages are written.
pub(super) async fn run(server: &Client, what: Exported<'_>, arguments: ExportArgs) -> Result<(), Failure> {
    let Exported { path, mut filters, columns, about } = what;
    filters.push(("redacted", "true".to_owned()));
    let until = filters.iter().find(|(name, _)| *name == "until").map(|(_, until)| until.as_str());
    let mut progress = Progress::new(about, until);
    let mut pages = server.list(path, &filters, usize::MAX);
    let mut out = BufWriter::new(io::stdout().lock());
    let head = (arguments.format == ExportFormat::Csv).then(|| csv::head(columns));
    if !is_read(head.map_or(Ok(()), |head| out.write_all(head.as_bytes())))? {
        return Ok(());
    }
    loop {
        let page = match pages.next().await {
            Ok(Some(page)) => page,
            Ok(None) => break,
            Err(error) => {
                is_read(out.flush())?;
                progress.finish();
                if progress.written() > 0 {
                    output::say(format_args!("incomplete: {} written; run it again", progress.written()));
                }
                return Err(error.into());
            }
        };
        let text = output::for_reader(page.iter().map(|item| line(item, columns, arguments.format)).collect());
        let write = || out.write_all(text.as_bytes()).and_then(|()| out.flush());
        if !is_read(progress.without_bar(write))? {
            progress.finish();
            return Ok(());
        }
        progress.wrote(&page);
        pages.retry(Retries::within(PATIENCE));
    }
    progress.finish();
    output::say(format_args!("{} written", progress.written()));
    Ok(())
}

/// Returns the number of items of a kind in a bucket, or `None` if the key may not read it.
pub(super) async fn about(server: &Client, bucket: &BucketName, kind: &str) -> Option<u64> {
    server.get(&format!("/v1/buckets/{bucket}")).await.ok()?[kind].as_u64()
}

fn line(item: &Json, columns: &[CsvColumn], format: ExportFormat) -> String {
    match format {
        ExportFormat::Ndjson => format!("{item}\n"),
        ExportFormat::Csv => csv::row(item, columns),
    }
}

/// Returns `false` if the reader has closed the pipe, which is no error.
fn is_read(written: io::Result<()>) -> Result<bool, Failure> {
    match written {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(error) => Err(Failure::new(Exit::Failure, format!("can't write to standard output: {error}"))),
    }
}
