//! `dripfeed buckets [NAME]`

mod attention;
pub(super) mod bucket_state;

use clap::Args;
use dripfeed_job::BucketName;
use serde_json::Value as Json;

use crate::client::ConnectionArgs;
use crate::exit::Failure;
use crate::output::Format;

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Bucket to show in detail
    name: Option<BucketName>,
    #[command(flatten)]
    connection: ConnectionArgs,
}

pub(super) async fn run(arguments: &Arguments) -> Result<(), Failure> {
    let server = arguments.connection.server()?;
    let output = arguments.connection.output();
    match &arguments.name {
        Some(name) => {
            let bucket = server.get(&format!("/v1/buckets/{name}")).await?;
            bucket_state::print(&bucket, &[], output)?;
            print_notices(std::slice::from_ref(&bucket), output);
        }
        None => {
            let mut pages = server.list("/v1/buckets", &[], usize::MAX);
            let mut buckets = Vec::new();
            while let Some(page) = pages.next().await? {
                buckets.extend(page);
            }
            bucket_state::print_all(&buckets, output)?;
            print_notices(&buckets, output);
        }
    }
    Ok(())
}

/// Prints what needs attention, unless as JSON, which already has the problems and warnings.
fn print_notices(buckets: &[Json], format: Format) {
    if format == Format::Table {
        attention::print(buckets);
    }
}
