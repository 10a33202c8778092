//! `dripfeed buckets [NAME]`

pub(super) mod bucket_state;

use clap::Args;
use dripfeed_job::BucketName;

use crate::client::ConnectionArgs;
use crate::exit::Failure;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Bucket to show in detail
    name: Option<BucketName>,
    #[command(flatten)]
    connection: ConnectionArgs,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Failure> {
    let server = arguments.connection.server()?;
    let output = arguments.connection.output;
    match &arguments.name {
        Some(name) => bucket_state::print(&server.get(&format!("/v1/buckets/{name}")).await?, output)?,
        None => {
            let mut all = server.get("/v1/buckets").await?;
            let buckets = all["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
            bucket_state::print_all(&buckets, output)?;
        }
    }
    Ok(())
}
