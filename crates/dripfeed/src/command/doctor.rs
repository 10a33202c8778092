//! `dripfeed doctor`: speaks to Redis itself, because what it looks for is what the servers can't see.

use clap::Args;
use dripfeed_bucket::{Bucket, Kind};
use dripfeed_job::BucketName;
use dripfeed_store::Store;
use serde_json::{Value as Json, json};

use crate::exit::{Exit, Failure};
use crate::output::{self, Column, Format, shown};
use crate::settings::{Layers, Settings};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Only this bucket
    bucket: Option<BucketName>,
    /// Mend what can be mended
    #[arg(long)]
    repair: bool,
    /// How to print
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

const COLUMNS: [Column; 5] = [
    ("BUCKET", |finding| shown(finding, "/bucket")),
    ("COUNT", |finding| shown(finding, "/count")),
    ("WHAT", |finding| shown(finding, "/what")),
    ("SUCH AS", |finding| shown(finding, "/example")),
    ("REPAIR", |finding| shown(finding, "/remedy")),
];

pub(super) async fn run(arguments: &Arguments, layers: &Layers) -> Result<(), Failure> {
    let settings = Settings::load(layers)?;
    let store = Store::connect(&settings.redis).await?;
    let mut findings = Vec::new();
    for (name, bucket) in &settings.buckets {
        if arguments.bucket.as_ref().is_none_or(|wanted| wanted == name) {
            let bucket = Bucket::new(store.clone(), bucket.settings(settings.redis.durability));
            findings.extend(examine(&bucket, arguments.repair).await?);
        }
    }
    if let Some(wanted) = arguments.bucket.as_ref().filter(|wanted| !settings.buckets.contains_key(*wanted)) {
        return Err(Failure::new(
            Exit::Configuration,
            format!("there is no bucket `{wanted}`: add [buckets.{wanted}]"),
        ));
    }
    match arguments.output {
        Format::Table if findings.is_empty() => output::line("all invariants hold")?,
        Format::Table => output::rows(&COLUMNS, &findings)?,
        Format::Json => output::json(&findings)?,
    }
    verdict(&findings, arguments.repair)
}

async fn examine(bucket: &Bucket, repair: bool) -> Result<Vec<Json>, Failure> {
    if bucket.settings().kind == Kind::List {
        output::say(format_args!("{}: not examined, because its kind is list", bucket.name()));
        return Ok(Vec::new());
    }
    let findings = bucket.examine(repair).await?;
    let shown = findings.iter().map(|finding| {
        json!({
            "bucket": bucket.name(),
            "count": finding.count,
            "what": finding.kind.what(),
            "example": finding.example,
            "remedy": finding.kind.remedy(),
        })
    });
    Ok(shown.collect())
}

/// What is found and stays broken makes the command fail.
fn verdict(findings: &[Json], repaired: bool) -> Result<(), Failure> {
    let mendable = findings.iter().filter(|finding| !finding["remedy"].is_null()).count();
    match (findings.len() - mendable, mendable) {
        (0, 0) => Ok(()),
        (0, _) if repaired => Ok(()),
        (0, _) => Err(Failure::new(Exit::Failure, "some invariants don't hold: --repair mends them")),
        (_, _) => Err(Failure::new(Exit::Failure, "some invariants don't hold, and not all of them can be mended")),
    }
}
