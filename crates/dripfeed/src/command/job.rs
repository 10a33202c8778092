//! `dripfeed job BUCKET ID`

use clap::Args;
use dripfeed_job::{BucketName, JobId};
use serde_json::Value as Json;

use crate::client::ConnectionArgs;
use crate::exit::Failure;
use crate::output::{self, Column, Format, shown};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Name of the bucket
    bucket: BucketName,
    /// Id of the job
    id: JobId,
    /// Cancel the job if it is waiting or parked
    #[arg(long)]
    cancel: bool,
    /// Also show the payload of a job that hasn't ended, and what it says of the call; needs the scope `inspect`
    #[arg(long, conflicts_with = "cancel")]
    payload: bool,
    #[command(flatten)]
    connection: ConnectionArgs,
}

const COLUMNS: [Column; 12] = [
    ("ID", |job| shown(job, "/id")),
    ("STATE", |job| shown(job, "/state")),
    ("ATTEMPTS", |job| shown(job, "/attempts")),
    ("ACCEPTED", |job| shown(job, "/accepted_at")),
    ("DUE", |job| shown(job, "/due_at")),
    ("CALLER", |job| shown(job, "/caller")),
    ("PRIORITY", |job| shown(job, "/priority")),
    ("GROUP", |job| shown(job, "/group")),
    ("SETTLED", |job| shown(job, "/outcome/settled_at")),
    ("STATUS", |job| shown(job, "/outcome/status")),
    ("REASON", |job| shown(job, "/outcome/reason")),
    ("ANSWER", |job| answer(&job["outcome"])),
];

/// The additional columns of `--payload`.
const PAYLOAD: [Column; 6] = [
    ("CONTENT TYPE", |job| shown(job, "/payload/content_type")),
    ("METHOD", |job| shown(job, "/payload/method")),
    ("PATH", |job| shown(job, "/payload/path")),
    ("HEADERS", |job| shown(job, "/payload/headers")),
    ("BODY", |job| shown(job, "/payload/body")),
    ("BODY BASE64", |job| shown(job, "/payload/body_base64")),
];

/// The upstream's answer, and whether it is encoded or truncated.
fn answer(outcome: &Json) -> String {
    let is = |member: &str| outcome[member] == true;
    let mut answer = shown(outcome, "/body");
    if is("base64") {
        answer += " (base64)";
    }
    if is("truncated") {
        answer += " (cut: the rest isn't kept)";
    }
    answer
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Failure> {
    let Arguments { bucket, id, cancel, payload, connection } = arguments;
    let server = connection.server()?;
    if *cancel {
        server.cancel(bucket, *id).await?;
    }
    let query = if *payload { "?payload=true" } else { "" };
    let job = server.get(&format!("/v1/buckets/{bucket}/jobs/{id}{query}")).await?;
    match connection.output() {
        Format::Table if *payload => output::sheet(&[&COLUMNS[..], &PAYLOAD].concat(), &job)?,
        Format::Table => output::sheet(&COLUMNS, &job)?,
        Format::Json => output::json(&job)?,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_answer_that_is_cut_says_so() {
        assert_eq!(answer(&json!({ "body": "oops", "truncated": false })), "oops");
        assert_eq!(answer(&json!({ "body": "oops", "truncated": true })), "oops (cut: the rest isn't kept)");
        assert_eq!(answer(&json!({ "body": "/w==", "base64": true, "truncated": false })), "/w== (base64)");
        assert_eq!(answer(&Json::Null), "-");
    }
}
