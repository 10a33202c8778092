//! `dripfeed bucket`: buckets created over the API.

mod definition;

use bytes::Bytes;
use clap::{Args, Subcommand};
use dripfeed_client::Client;
use dripfeed_job::BucketName;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::Value as Json;

use self::definition::DefinitionArgs;
use super::buckets::bucket_state;
use crate::client::{ConnectionArgs, CreateArgs, if_match, version};
use crate::exit::{Exit, Failure};
use crate::output::{Column, Format, shown};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: BucketCommand,
    #[command(flatten)]
    connection: ConnectionArgs,
}

#[derive(Debug, Subcommand)]
enum BucketCommand {
    /// Create a bucket, or replace its definition
    Put(Box<PutArgs>),
    /// Show a bucket, its definition and the version of the definition
    Show {
        /// Name of the bucket
        name: BucketName,
    },
    /// Delete a bucket that has no jobs
    Delete {
        /// Name of the bucket
        name: BucketName,
        /// First cancel its waiting and parked jobs
        #[arg(long)]
        purge: bool,
        /// Only if the definition has this version
        #[arg(long, value_name = "VERSION")]
        if_match: Option<String>,
    },
}

#[derive(Args, Debug)]
struct PutArgs {
    /// Name of the bucket
    name: BucketName,
    #[command(flatten)]
    definition: DefinitionArgs,
    #[command(flatten)]
    create: CreateArgs,
    /// Only if the definition has this version
    #[arg(long, value_name = "VERSION", conflicts_with = "create")]
    if_match: Option<String>,
}

const DEFINITION: [Column; 3] = [
    ("DEFINITION", |bucket| shown(bucket, "/definition")),
    ("DEFINED BY", |bucket| shown(bucket, "/defined_by")),
    ("VERSION", |bucket| shown(bucket, "/version")),
];

pub(super) async fn run(Arguments { command, connection }: Arguments) -> Result<(), Failure> {
    let server = connection.server()?;
    match command {
        BucketCommand::Put(put) => {
            let definition = put.definition.read().map_err(|message| Failure::new(Exit::Usage, message))?;
            let mut headers = if_match(put.if_match.as_deref())?;
            headers.extend(put.create.headers());
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            let path = format!("/v1/buckets/{}", put.name);
            print(&server, Method::PUT, &path, headers, definition.to_string(), connection.output()).await
        }
        BucketCommand::Show { name } => {
            let path = format!("/v1/buckets/{name}");
            print(&server, Method::GET, &path, HeaderMap::new(), String::new(), connection.output()).await
        }
        BucketCommand::Delete { name, purge, if_match: version } => {
            let query = if purge { "?purge=true" } else { "" };
            let path = format!("/v1/buckets/{name}{query}");
            server.call(Method::DELETE, &path, if_match(version.as_deref())?, Bytes::new()).await?;
            Ok(())
        }
    }
}

async fn print(
    server: &Client,
    method: Method,
    path: &str,
    headers: HeaderMap,
    body: String,
    format: Format,
) -> Result<(), Failure> {
    let answer = server.call(method, path, headers, body.into()).await?;
    let mut bucket: Json = answer.json()?;
    bucket["version"] = version(&answer);
    Ok(bucket_state::print(&bucket, &DEFINITION, format)?)
}
