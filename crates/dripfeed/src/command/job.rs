//! `dripfeed job BUCKET ID`

use clap::Args;
use dripfeed_job::{BucketName, JobId};

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
    ("ANSWER", |job| shown(job, "/outcome/body")),
];

pub(super) async fn run(Arguments { bucket, id, cancel, connection }: &Arguments) -> Result<(), Failure> {
    let server = connection.server()?;
    if *cancel {
        server.cancel(bucket, *id).await?;
    }
    let job = serde_json::to_value(server.job(bucket, *id).await?).map_err(anyhow::Error::from)?;
    match connection.output {
        Format::Table => output::sheet(&COLUMNS, &job)?,
        Format::Json => output::json(&job)?,
    }
    Ok(())
}
