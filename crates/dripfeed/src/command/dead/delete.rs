//! `dripfeed dead BUCKET delete`

use bytes::Bytes;
use clap::{ArgGroup, Args};
use dripfeed_client::Client;
use dripfeed_job::{BucketName, JobId};
use http::{HeaderMap, Method};
use serde_json::Value as Json;

use super::filter::FilterArgs;
use crate::command::done;
use crate::command::purge::confirmed;
use crate::exit::{Exit, Failure};
use crate::output::Format;

#[derive(Args, Debug)]
#[command(group = ArgGroup::new("which").args(["id", "all"]).required(true))]
pub(super) struct DeleteArgs {
    /// Id of the dead letter
    #[arg(conflicts_with = "FilterArgs")]
    id: Option<JobId>,
    /// Delete all that match the options below, of which one is required
    #[arg(long)]
    all: bool,
    /// Don't ask for confirmation of --all; needed where standard input isn't a terminal
    #[arg(long, requires = "all", conflicts_with = "id")]
    yes: bool,
    #[command(flatten)]
    filter: FilterArgs,
}

pub(super) async fn run(
    server: &Client,
    bucket: &BucketName,
    DeleteArgs { id, yes, filter, .. }: &DeleteArgs,
    format: Format,
) -> Result<(), Failure> {
    let path = format!("/v1/buckets/{bucket}/dead");
    if let Some(id) = id {
        return Ok(server.delete(&format!("{path}/{id}")).await?);
    }
    let query = filter.query();
    if query.is_empty() {
        let message = "use at least one of --reason, --status, --caller, --since and --until with --all";
        return Err(Failure::new(Exit::Usage, message));
    }
    if !yes && !confirmed("delete", &question(bucket, filter), bucket)? {
        return Err(Failure::new(Exit::Failure, "nothing was deleted"));
    }
    let answer = server.call(Method::DELETE, &format!("{path}?{query}"), HeaderMap::new(), Bytes::new()).await?;
    let deleted: Json = answer.json()?;
    Ok(done::print(&deleted, "deleted", "dead letter", format)?)
}

fn question(bucket: &BucketName, filter: &FilterArgs) -> String {
    let words: Vec<String> = filter.pairs().iter().map(|(name, value)| format!("{name} `{value}`")).collect();
    format!("Delete the dead letters of `{bucket}` with {} permanently?", words.join(", "))
}
