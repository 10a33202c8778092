//! `dripfeed resume BUCKET`

use clap::Args;
use dripfeed_job::BucketName;

use super::bucket;
use crate::client::Asking;
use crate::exit::Failure;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    bucket: BucketName,
    #[command(flatten)]
    asking: Asking,
}

pub(super) async fn run(Arguments { bucket, asking }: &Arguments) -> Result<(), Failure> {
    let state = asking.server()?.post(&format!("/v1/buckets/{bucket}/resume")).await?;
    Ok(bucket::print(&state, asking.output)?)
}
