//! How a job ended that was waited for, where there is no answer of the upstream to print.

use dripfeed_client::Client;
use dripfeed_job::{BucketName, Ending, JobId};
use serde_json::Value as Json;

use crate::exit::{Exit, Failure};
use crate::output::{self, Format, shown};

/// The job, if it has ended. None as well where that can't be read: a key may submit alone.
pub(super) async fn of(server: &Client, bucket: &BucketName, id: JobId) -> Option<Json> {
    let job = server.get(&format!("/v1/buckets/{bucket}/jobs/{id}")).await.ok()?;
    job["outcome"].is_object().then_some(job)
}

/// Prints the job as a receipt; what became of it is an error unless it was delivered.
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
