//! `dripfeed doctor`: connects to Redis itself, to check what the roles can't see. Each script reads a bounded part, so
//! the command may be stopped at any time.

mod all_buckets;
pub(super) mod partial;

use clap::Args;
use dripfeed_bucket::{Bucket, BucketError, BucketPlace, Examination, Finding, FindingKind, stranded_jobs};
use dripfeed_job::BucketName;
use dripfeed_store::{Store, installed_layout};
use serde_json::{Value as Json, json};

use self::all_buckets::{AllBuckets, all_buckets};
use crate::command::doctor::partial::PartialStore;
use crate::exit::{Exit, Failure};
use crate::output::{self, Column, Format, shown};
use crate::role::served;
use crate::settings::{Layers, Settings};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Bucket to check [default: all]
    bucket: Option<BucketName>,
    /// Repair what can be repaired automatically
    #[arg(long)]
    repair: bool,
    /// Output format
    #[arg(short, long, value_enum, default_value_t = Format::Table)]
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
    let partial = PartialStore::connect(&settings.redis).await?;
    let store = &partial.store;
    for why in &partial.away {
        output::say(format_args!("not checked: {why}"));
    }
    match partial.unless_away(installed_layout(store).await)? {
        Ok(Some(layout)) => {
            output::say(format_args!("keys with the prefix `{}` have layout {layout}", store.prefix()));
        }
        Ok(None) => {}
        Err(why) => output::say(format_args!("not checked: layout of the keys: {why}")),
    }
    let AllBuckets { buckets, mut unread, sealed } = all_buckets(&partial, &settings).await?;
    unread.retain(|(bucket, _)| arguments.bucket.as_ref().is_none_or(|wanted| wanted == bucket));
    for (bucket, why) in &unread {
        output::say(format_args!("{bucket}: not checked: its definition can't be used here: {why}"));
    }
    let (mut findings, mut checked_all) = (Vec::new(), unread.is_empty() && partial.away.is_empty());
    for bucket in &buckets {
        if arguments.bucket.as_ref().is_none_or(|wanted| wanted == bucket.name()) {
            let examined = match bucket.examine(arguments.repair).await {
                Ok(examined) => examined,
                Err(BucketError::OtherKind { key, kind, jobs, .. }) => {
                    findings.push(of_other_kind(bucket, &key, kind, jobs));
                    continue;
                }
                Err(BucketError::ForeignType { key, .. }) => {
                    findings.push(of_foreign_type(bucket, &key));
                    continue;
                }
                Err(error) => match partial.unless_away(Err(error))? {
                    Ok(examined) => examined,
                    Err(why) => {
                        output::say(format_args!("{}: not checked: {why}", bucket.name()));
                        continue;
                    }
                },
            };
            findings.extend(examined.findings.iter().map(|finding| document(bucket.name(), finding)));
            if arguments.repair {
                report_loss(bucket, &examined).await;
            }
            for what in &examined.unchecked {
                checked_all = false;
                output::say(format_args!("{}: not checked: {what}", bucket.name()));
            }
        }
    }
    match partial.unless_away(stranded(store, &buckets, sealed, arguments.bucket.as_ref()).await)? {
        Ok(stranded) => findings.extend(stranded),
        Err(why) => output::say(format_args!("not checked: jobs that no process serves: {why}")),
    }
    let unknown = arguments.bucket.as_ref().filter(|wanted| !buckets.iter().any(|bucket| bucket.name() == *wanted));
    if let Some(wanted) = unknown.filter(|_| findings.is_empty() && unread.is_empty()) {
        return Err(Failure::new(Exit::Configuration, format!("unknown bucket `{wanted}`: add [buckets.{wanted}]")));
    }
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

/// Jobs that no repair brings back are no finding of the next run: so this one says it, and the audit log keeps it.
async fn report_loss(bucket: &Bucket, examined: &Examination) {
    let Some(lost) = examined.findings.iter().find(|finding| finding.kind == FindingKind::Lost) else { return };
    let (name, jobs) = (bucket.name(), lost.count);
    let detail = format!("{jobs} accepted jobs that are neither in the bucket nor ended");
    output::say(format_args!("{name}: written off as lost: {detail}"));
    // At maxmemory it is refused, and a repair isn't.
    if let Err(error) = bucket.record(None, "write_off", &detail).await {
        output::say(format_args!("{name}: no entry in the audit log: {error}"));
    }
}

/// Jobs of buckets that no process has among its settings any more, nor these.
async fn stranded(
    store: &Store,
    buckets: &[Bucket],
    sealed: Vec<BucketPlace>,
    wanted: Option<&BucketName>,
) -> Result<Vec<Json>, Failure> {
    let mut configured = sealed;
    configured.extend(buckets.iter().map(|bucket| BucketPlace::from(&*bucket.settings())));
    let mut stranded = stranded_jobs(store, &[]).await?;
    stranded.retain_mut(|found| {
        found.has_namesake |= configured.iter().any(|place| place.bucket == found.place.bucket);
        !configured.contains(&found.place) && wanted.is_none_or(|wanted| *wanted == found.place.bucket)
    });
    let shown = stranded.iter().map(|found| {
        let jobs = if found.jobs == found.outcome_jobs { "outcome jobs" } else { "accepted jobs" };
        json!({
            "bucket": found.place.bucket,
            "count": found.jobs,
            "what": format!("{jobs} of a {} that no process serves", found.place.kind.as_str()),
            "example": found.key,
            "remedy": null,
            "advice": served::remedy(found),
        })
    });
    Ok(shown.collect())
}

/// A bucket whose kind was changed, and not its key.
fn of_other_kind(bucket: &Bucket, key: &str, found: &str, jobs: u64) -> Json {
    let (name, configured) = (bucket.name(), bucket.settings().kind.as_str());
    json!({
        "bucket": name,
        "count": jobs,
        "what": format!("jobs in a {found} under the key of this {configured}: nothing is accepted or delivered"),
        "example": key,
        "remedy": null,
        "advice": format!("move them with `dripfeed drain {name} --into OTHER`, or give the bucket another `key`"),
    })
}

/// A key that somebody else uses.
fn of_foreign_type(bucket: &Bucket, key: &str) -> Json {
    json!({
        "bucket": bucket.name(),
        "count": 1,
        "what": "keys that should have jobs and have a type that dripfeed doesn't write: nothing is accepted",
        "example": key,
        "remedy": null,
        "advice": "delete the key, or give the bucket another `key`",
    })
}

fn document(bucket: &BucketName, finding: &Finding) -> Json {
    json!({
        "bucket": bucket,
        "count": finding.count,
        "what": finding.kind.what(),
        "example": finding.example,
        "remedy": finding.kind.remedy(),
    })
}

/// The command fails when something stays broken.
fn verdict(findings: &[Json], repaired: bool) -> Result<(), Failure> {
    let repairable = findings.iter().filter(|finding| !finding["remedy"].is_null()).count();
    match (findings.len() - repairable, repairable) {
        (0, 0) => Ok(()),
        (0, _) if repaired => Ok(()),
        (0, _) => Err(Failure::new(Exit::Failure, "some invariants don't hold; repair them with --repair")),
        (_, _) => Err(Failure::new(Exit::Failure, "some invariants don't hold, and not all of them can be repaired")),
    }
}
