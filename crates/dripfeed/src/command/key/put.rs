//! `dripfeed key put`: creates or changes a key over the API.

use clap::Args;
use dripfeed_client::Client;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method};
use serde_json::{Value as Json, json};

use super::new::id;
use super::shown::{print, with_version};
use crate::client::{ConnectionArgs, CreateArgs, if_match};
use crate::exit::Failure;
use crate::output::{self, Format};

/// The server validates scopes, names and times.
#[derive(Args, Debug)]
pub(super) struct PutArgs {
    /// Id of the key
    #[arg(value_parser = id)]
    pub(super) id: String,
    /// Scope: submit, read, inspect, operate, define or keys; repeatable
    #[arg(long = "scope", value_name = "SCOPE", required = true)]
    scopes: Vec<String>,
    /// Bucket that the key may access: a name, a pattern such as team-a-*, or * for all; repeatable
    #[arg(long = "bucket", value_name = "NAME", required = true)]
    buckets: Vec<String>,
    /// Service that the key may access, in the same form; repeatable [default: services named as its buckets]
    #[arg(long = "service", value_name = "NAME")]
    services: Vec<String>,
    /// Highest priority of its jobs: high, normal or low [default: normal]
    #[arg(long)]
    priority: Option<String>,
    /// Expiry, such as 2030-01-01T12:00:00Z [default: never]
    #[arg(long, value_name = "TIME")]
    not_after: Option<String>,
    /// SHA-256 of the key, 64 hex digits [default: an existing key is kept; for a new one, a key is generated and
    /// printed]
    #[arg(long, value_name = "HASH")]
    sha256: Option<String>,
    #[command(flatten)]
    create: CreateArgs,
    /// Only if the key has this version
    #[arg(long, value_name = "VERSION", conflicts_with = "create")]
    if_match: Option<String>,
    #[command(flatten)]
    pub(super) connection: ConnectionArgs,
}

impl PutArgs {
    fn document(&self) -> Json {
        let mut document = json!({ "scopes": self.scopes, "buckets": self.buckets });
        if !self.services.is_empty() {
            document["services"] = json!(self.services);
        }
        let texts = [("priority", &self.priority), ("not_after", &self.not_after), ("sha256", &self.sha256)];
        for (name, text) in texts {
            if let Some(text) = text {
                document[name] = json!(text);
            }
        }
        document
    }
}

/// Prints only a new key to standard output, and the rest to standard error.
pub(super) async fn run(server: &Client, path: &str, put: &PutArgs) -> Result<(), Failure> {
    let mut headers: HeaderMap = if_match(put.if_match.as_deref())?;
    headers.extend(put.create.headers());
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let answer = server.call(Method::PUT, path, headers, put.document().to_string().into()).await?;
    let key = with_version(&answer)?;
    match (put.connection.output(), key["key"].as_str()) {
        (Format::Json, _) => output::json(&key)?,
        (Format::Table, Some(new_key)) => {
            output::line(new_key)?;
            output::say(format!("# The key `{}` is on standard output, shown once and stored nowhere.", put.id));
        }
        (Format::Table, None) => print(&key, Format::Table)?,
    }
    Ok(())
}
