//! Prints how a job ended that `push --wait` waited for, if there is no answer of the upstream to print.

use dripfeed_client::Client;
use dripfeed_job::{BucketName, Ending, JobId};
use serde_json::Value as Json;

use crate::exit::{Exit, Failure};
use crate::output::{self, Format, shown};

/// Returns the job if it has ended, or `None`, also if it can't be read, as with a key that may only submit.
pub(super) async fn of(server: &Client, bucket: &BucketName, id: JobId) -> Option<Json> {
    let job = server.get(&format!("/v1/buckets/{bucket}/jobs/{id}")).await.ok()?;
    job["outcome"].is_object().then_some(job)
}

/// Prints the job as a receipt. Fails unless it was delivered.
pub(super) fn report(job: &Json, format: Format) -> Result<(), Failure> {
    match format {
        Format::Table => output::line(shown(job, "/id"))?,
        Format::Json => output::json(job)?,
    }
    if job["state"] == Ending::Delivered.as_str() {
        output::say("delivered meanwhile");
        return Ok(());
    }
    let status = job.pointer("/outcome/status").filter(|status| !status.is_null());
    let status = status.map_or_else(String::new, |status| format!(" (status {status})"));
    let (state, reason) = (shown(job, "/state"), shown(job, "/outcome/reason"));
    Err(Failure::new(Exit::Failure, format!("not delivered: the job is {state}: {reason}{status}")))
}
