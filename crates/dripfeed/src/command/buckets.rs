//! `dripfeed buckets [NAME]`

use clap::Args;
use dripfeed_job::BucketName;

use super::bucket;
use crate::client::Asking;
use crate::exit::Failure;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// One of them, with all about it
    name: Option<BucketName>,
    #[command(flatten)]
    asking: Asking,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Failure> {
    let server = arguments.asking.server()?;
    let output = arguments.asking.output;
    match &arguments.name {
        Some(name) => bucket::print(&server.get(&format!("/v1/buckets/{name}")).await?, output)?,
        None => bucket::print_all(&server.list("/v1/buckets", &[], usize::MAX).await?, output)?,
    }
    Ok(())
}
