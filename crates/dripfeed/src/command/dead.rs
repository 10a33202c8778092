//! `dripfeed dead BUCKET`

use bytes::Bytes;
use clap::{Args, Subcommand};
use dripfeed_job::{BucketName, JobId, Rate};
use http::{HeaderMap, Method};
use serde_json::{Value as Json, json};

use crate::client::{Asking, Server};
use crate::exit::{Exit, Failure};
use crate::output::{self, Column, Format, shown};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    bucket: BucketName,
    #[command(subcommand)]
    deed: Option<Deed>,
    #[command(flatten)]
    asking: Asking,
}

#[derive(Debug, Subcommand)]
enum Deed {
    /// List them (also without a word)
    List {
        /// The most letters
        #[arg(long, default_value_t = 100)]
        limit: usize,
        #[command(flatten)]
        filter: Filter,
    },
    /// Hand one in again, or all, within the bucket's room and pace
    Replay {
        #[arg(required_unless_present = "all", conflicts_with = "all")]
        id: Option<JobId>,
        /// All that the filter lets pass
        #[arg(long)]
        all: bool,
        /// How fast they come back, such as 10/s; else at the bucket's pace
        #[arg(long, requires = "all")]
        rate: Option<Rate>,
        #[command(flatten)]
        filter: Filter,
    },
    /// Delete one for good
    Delete { id: JobId },
}

#[derive(Args, Debug, Default)]
struct Filter {
    /// Only reasons that contain this text
    #[arg(long)]
    reason: Option<String>,
    /// Only with this last status of the upstream
    #[arg(long)]
    status: Option<u16>,
    /// Only of this caller
    #[arg(long)]
    caller: Option<String>,
}

impl Filter {
    fn pairs(&self) -> Vec<(&'static str, String)> {
        let status = self.status.map(|status| status.to_string());
        let all = [("reason", self.reason.clone()), ("status", status), ("caller", self.caller.clone())];
        all.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
    }

    fn document(&self, rate: Option<Rate>) -> Json {
        let mut which = json!({"reason": self.reason, "status": self.status, "caller": self.caller, "rate": rate});
        if let Json::Object(members) = &mut which {
            members.retain(|_, value| !value.is_null());
        }
        which
    }
}

const COLUMNS: [Column; 6] = [
    ("ID", |letter| shown(letter, "/id")),
    ("DIED", |letter| shown(letter, "/died_at")),
    ("ATTEMPTS", |letter| shown(letter, "/outcome/attempts")),
    ("STATUS", |letter| shown(letter, "/outcome/status")),
    ("CALLER", |letter| shown(letter, "/caller")),
    ("REASON", |letter| shown(letter, "/outcome/reason")),
];

pub(super) async fn run(Arguments { bucket, deed, asking }: &Arguments) -> Result<(), Failure> {
    let server = asking.server()?;
    let path = format!("/v1/buckets/{bucket}/dead");
    match deed {
        None => list(&server, &path, &Filter::default(), 100, asking.output).await,
        Some(Deed::List { limit, filter }) => list(&server, &path, filter, *limit, asking.output).await,
        Some(Deed::Replay { id: Some(id), .. }) => {
            let receipt = server.post(&format!("{path}/{id}/replay")).await?;
            Ok(print(&receipt, &shown(&receipt, "/id"), asking.output)?)
        }
        Some(Deed::Replay { id: None, rate, filter, .. }) => {
            let done = server.send_json(Method::POST, &format!("{path}/replay"), &filter.document(*rate)).await?;
            print(&done, &shown(&done, "/replayed"), asking.output)?;
            match done["left"].as_u64() {
                None | Some(0) => Ok(()),
                Some(left) => {
                    Err(Failure::new(Exit::RefusedForNow, format!("{left} stay: the bucket has no room for them now")))
                }
            }
        }
        Some(Deed::Delete { id }) => {
            server.call(Method::DELETE, &format!("{path}/{id}"), HeaderMap::new(), Bytes::new()).await?;
            Ok(())
        }
    }
}

async fn list(server: &Server, path: &str, filter: &Filter, limit: usize, format: Format) -> Result<(), Failure> {
    let letters = server.list(path, &filter.pairs(), limit).await?;
    match format {
        Format::Table => output::rows(&COLUMNS, &letters)?,
        Format::Json => output::json(&letters)?,
    }
    Ok(())
}

fn print(document: &Json, short: &str, format: Format) -> std::io::Result<()> {
    match format {
        Format::Table => output::line(short),
        Format::Json => output::json(document),
    }
}
