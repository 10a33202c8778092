//! `dripfeed resume BUCKET`

use clap::Args;
use dripfeed_job::BucketName;

use super::bucket;
use crate::client::ConnectionArgs;
use crate::exit::Failure;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    bucket: BucketName,
    #[command(flatten)]
    connection: ConnectionArgs,
}

pub(super) async fn run(Arguments { bucket, connection }: &Arguments) -> Result<(), Failure> {
    let state = connection.server()?.post(&format!("/v1/buckets/{bucket}/resume")).await?;
    Ok(bucket::print(&state, connection.output)?)
}
