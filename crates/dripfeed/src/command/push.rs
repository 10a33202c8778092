//! `dripfeed push BUCKET`: submits a job, or a file of jobs.

mod body;
mod line;
mod lines;
mod ndjson;
mod options;
mod outcome;
mod progress;
mod reader;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use dripfeed_client::{ClientError, NewJob, PushAnswer, UpstreamResponse};
use dripfeed_job::BucketName;
use dripfeed_job::outcome::AnswerBody;
use serde_json::json;

use self::body::{detect_content_type, read};
use self::options::Options;
use crate::client::ConnectionArgs;
use crate::exit::{Exit, Failure};
use crate::output::{self, Format};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Name of the bucket
    bucket: BucketName,
    #[command(flatten)]
    source: BodySource,
    /// Content type of the body [default: detected]
    #[arg(long, value_name = "TYPE", conflicts_with = "ndjson")]
    content_type: Option<String>,
    #[command(flatten)]
    options: Options,
    /// Name of this push, part of the idempotency key of each line. To resume an interrupted push, use its name:
    /// accepted lines are not submitted again
    #[arg(long, requires = "ndjson", value_name = "NAME")]
    run_id: Option<String>,
    /// Give up if the server asks to wait longer than that before the next try, such as 30s or 6h [default: 1h]
    #[arg(long, requires = "ndjson", value_name = "DURATION", value_parser = parse_duration)]
    max_wait: Option<Duration>,
    #[command(flatten)]
    connection: ConnectionArgs,
}

/// Source of the body; standard input by default.
#[derive(Args, Debug)]
#[group(multiple = false)]
struct BodySource {
    /// Body of the job
    #[arg(long, value_name = "TEXT")]
    body: Option<String>,
    /// File with the body; - for standard input, which is the default
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// File with one job per line: {"body": …, "options": {…}}; - for standard input
    #[arg(long, value_name = "FILE")]
    ndjson: Option<PathBuf>,
}

pub(super) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { bucket, source, content_type, options, run_id, max_wait, connection } = arguments;
    if let Some(file) = source.ndjson {
        options.refuse_all().map_err(|message| Failure::new(Exit::Usage, message))?;
        return ndjson::push(&bucket, &file, run_id, max_wait, &connection).await;
    }
    let server = connection.server()?;
    let body = read(source.body, source.file)?;
    let content_type = content_type.unwrap_or_else(|| detect_content_type(&body).to_owned());
    let wait = options.wait();
    let job = options.set(NewJob::new(body).content_type(content_type));
    let job = job.map_err(|message| Failure::new(Exit::Usage, message))?;
    let pushed = match wait {
        None => server.push(&bucket, &job).await.map(PushAnswer::Accepted),
        Some(wait) => server.push_and_wait(&bucket, &job, wait).await,
    };
    if let Err(error) = &pushed {
        explain(error, options.has_key());
    }
    let receipt = match pushed? {
        PushAnswer::Accepted(receipt) if wait.is_none() => receipt,
        PushAnswer::Accepted(receipt) => match outcome::of(&server, &bucket, receipt.id).await {
            Some(job) => return outcome::report(&job, connection.output()),
            None => {
                output::say(format_args!("not delivered yet: see `dripfeed job {bucket} {}`", receipt.id));
                receipt
            }
        },
        PushAnswer::Delivered(answer) => return print(&answer, connection.output()),
    };
    match connection.output() {
        Format::Table => output::line(receipt.id.to_string())?,
        Format::Json => output::json(&serde_json::to_value(&receipt).map_err(anyhow::Error::from)?)?,
    }
    Ok(())
}

/// After an error that leaves open whether the job was stored, prints what to do.
fn explain(error: &ClientError, has_key: bool) {
    let repeat = if has_key {
        "push it again with the same --idempotency-key"
    } else {
        "with an --idempotency-key it could be pushed again without a duplicate"
    };
    if error.is_retryable() && !error.was_not_executed() {
        output::say(format_args!("it isn't known whether the job was stored: {repeat}"));
    }
}

/// Prints the upstream's answer: as a table, only its body to standard output.
fn print(answer: &UpstreamResponse, format: Format) -> Result<(), Failure> {
    let kept = AnswerBody::new(answer.content_type.clone(), &answer.body, answer.truncated);
    match format {
        Format::Table => {
            if let Some(encoding) = &answer.content_encoding {
                output::say(format_args!("the answer is compressed ({encoding})"));
            }
            if answer.truncated {
                let bytes = answer.body.len();
                output::say(format_args!("the answer is longer: only its first {bytes} bytes were kept (keep.answer)"));
            }
            output::raw(&answer.body)?;
        }
        Format::Json => output::json(&json!({
            "id": answer.id,
            "status": answer.status,
            "content_type": kept.content_type,
            "content_encoding": answer.content_encoding,
            "truncated": kept.truncated,
            "base64": kept.base64,
            "body": kept.body,
        }))?,
    }
    Ok(())
}

fn parse_duration(text: &str) -> Result<Duration, String> {
    dripfeed_job::duration::parse(text).map_err(|error| error.to_string())
}
