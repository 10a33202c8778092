//! `dripfeed doctor`: checks the data in Redis. Connects to Redis directly, to check what the roles can't see. Each
//! script reads a bounded part, so the command may be stopped at any time.

mod all_buckets;
mod examined;
pub(super) mod partial_store;
mod stranded;

use clap::Args;
use dripfeed_job::BucketName;
use dripfeed_store::installed_layout;
use serde_json::Value as Json;

use self::all_buckets::{AllBuckets, all_buckets};
use self::examined::Examined;
use self::stranded::stranded;
use crate::command::doctor::partial_store::PartialStore;
use crate::exit::{Exit, Failure};
use crate::output::{self, Column, Format, shown};
use crate::settings::{Layers, Settings};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Bucket to check [default: all]
    bucket: Option<BucketName>,
    /// Repair what can be repaired automatically; accepted jobs that are missing are written off
    #[arg(long)]
    repair: bool,
    /// Output format
    #[arg(short, long, value_name = "FORMAT", value_enum, default_value_t = Format::Table)]
    output: Format,
}

const COLUMNS: [Column; 5] = [
    ("BUCKET", |finding| shown(finding, "/bucket")),
    ("COUNT", |finding| shown(finding, "/count")),
    ("WHAT", |finding| shown(finding, "/what")),
    ("SUCH AS", |finding| shown(finding, "/example")),
    ("REPAIR", |finding| shown(finding, if finding["remedy"].is_null() { "/advice" } else { "/remedy" })),
];

pub(super) async fn run(arguments: &Arguments, layers: &Layers) -> Result<(), Failure> {
    let settings = Settings::load(layers)?;
    if let Some(warning) = settings.expiring_certificate() {
        output::say(format_args!("warning: {warning}"));
    }
    let partial = connect(&settings).await?;
    let wanted = arguments.bucket.as_ref();
    let is_wanted = |bucket: &BucketName| wanted.is_none_or(|wanted| wanted == bucket);
    let AllBuckets { buckets, mut unread, sealed } = all_buckets(&partial, &settings).await?;
    unread.retain(|(bucket, _)| is_wanted(bucket));
    for (bucket, why) in &unread {
        output::say(format_args!("{bucket}: not checked: its definition can't be used here: {why}"));
    }
    let mut examined = Examined::default();
    for bucket in buckets.iter().filter(|bucket| is_wanted(bucket.name())) {
        examined.add(bucket, &partial, arguments.repair).await?;
    }
    let Examined { mut findings, is_partial } = examined;
    match partial.unless_away(stranded(&partial.store, &buckets, sealed, wanted).await)? {
        Ok(stranded) => findings.extend(stranded),
        Err(why) => output::say(format_args!("not checked: jobs that no process serves: {why}")),
    }
    let unknown = wanted.filter(|wanted| !buckets.iter().any(|bucket| bucket.name() == *wanted));
    if let Some(wanted) = unknown.filter(|_| findings.is_empty() && unread.is_empty()) {
        return Err(Failure::new(Exit::Configuration, format!("unknown bucket `{wanted}`: add [buckets.{wanted}]")));
    }
    let checked_all = !is_partial && unread.is_empty() && partial.away.is_empty();
    match arguments.output {
        Format::Table if findings.is_empty() && checked_all => output::line("all invariants hold")?,
        Format::Table if findings.is_empty() => output::line("all checked invariants hold")?,
        Format::Table => output::rows(&COLUMNS, &findings)?,
        Format::Json => output::json(&findings)?,
    }
    verdict(&findings, arguments.repair)?;
    match unread.len() {
        0 => partial.verdict(),
        unread => Err(Failure::new(Exit::Configuration, format!("buckets that were not checked: {unread}"))),
    }
}

/// Connects to Redis, even if some nodes of a Cluster are unreachable, which is reported. Prints the layout of the
/// keys.
async fn connect(settings: &Settings) -> Result<PartialStore, Failure> {
    let partial = PartialStore::connect(&settings.redis).await?;
    for why in &partial.away {
        output::say(format_args!("not checked: {why}"));
    }
    match partial.unless_away(installed_layout(&partial.store).await)? {
        Ok(Some(layout)) => {
            output::say(format_args!("keys with the prefix `{}` have layout {layout}", partial.store.prefix()));
        }
        Ok(None) => {}
        Err(why) => output::say(format_args!("not checked: layout of the keys: {why}")),
    }
    Ok(partial)
}

/// Fails if findings aren't repaired.
fn verdict(findings: &[Json], repaired: bool) -> Result<(), Failure> {
    let repairable = findings.iter().filter(|finding| !finding["remedy"].is_null()).count();
    match (findings.len() - repairable, repairable) {
        (0, 0) => Ok(()),
        (0, _) if repaired => Ok(()),
        (0, _) => Err(Failure::new(Exit::Failure, "some invariants don't hold; repair them with --repair")),
        (_, _) => Err(Failure::new(Exit::Failure, "some invariants don't hold, and not all of them can be repaired")),
    }
}
