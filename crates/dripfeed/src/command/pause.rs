//! `dripfeed pause BUCKET`, `dripfeed resume BUCKET`

use clap::Args;
use dripfeed_job::BucketName;

use super::buckets::bucket_state;
use crate::client::ConnectionArgs;
use crate::exit::Failure;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Name of the bucket
    bucket: BucketName,
    #[command(flatten)]
    connection: ConnectionArgs,
}

pub(super) async fn pause(arguments: &Arguments) -> Result<(), Failure> {
    switch(arguments, "pause").await
}

pub(super) async fn resume(arguments: &Arguments) -> Result<(), Failure> {
    switch(arguments, "resume").await
}

async fn switch(Arguments { bucket, connection }: &Arguments, what: &str) -> Result<(), Failure> {
    let state = connection.server()?.post(&format!("/v1/buckets/{bucket}/{what}")).await?;
    Ok(bucket_state::print(&state, &[], connection.output())?)
}
