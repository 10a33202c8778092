//! `dripfeed check`

use std::error::Error as _;

use clap::Args;
use dripfeed_bucket::{Bucket, BucketError};
use dripfeed_store::{Durability, ErrorKind, ServerInfo, Severity, Store, findings, installed_layout};

use crate::exit::{Exit, Failure};
use crate::memory;
use crate::output;
use crate::settings::{Layers, Settings};

const GRANT: &str = "grant the Redis user the rules of config/deploy/redis-acl.conf";
const UNASKED: &str = "the Redis ACL could not be checked: this needs Redis 7.0 or later, and `+acl|whoami \
    +acl|dryrun` for the Redis user";

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Also connect to Redis and check its version, memory policy, persistence and ACL
    #[arg(long)]
    connect: bool,
}

pub(super) async fn run(Arguments { connect }: &Arguments, layers: &Layers) -> Result<(), Failure> {
    let settings = Settings::load(layers)?;
    let (buckets, keys) = (counted(settings.buckets.len(), "bucket"), counted(settings.keys.len(), "key"));
    output::line(format!("configuration is valid: {buckets}, {keys}"))?;
    if *connect { look_at_redis(&settings).await } else { Ok(()) }
}

async fn look_at_redis(settings: &Settings) -> Result<(), Failure> {
    let store = Store::connect(&settings.redis).await?;
    let mut errors = 0;
    for master in store.masters() {
        errors += look_at_server(&master, settings.redis.durability).await?;
    }
    match installed_layout(&store).await? {
        Some(layout) => output::line(format!("keys with the prefix `{}` have layout {layout}", store.prefix()))?,
        None => output::line(format!("no intake or processor has run with the prefix `{}` yet", store.prefix()))?,
    }
    let mut can_be_asked = true;
    for (name, bucket) in &settings.buckets {
        let bucket = Bucket::new(store.clone(), bucket.settings(settings.redis.durability));
        let denied = bucket.denied().await?;
        can_be_asked &= denied.is_some();
        match level(&bucket, &denied.unwrap_or_default()).await? {
            Ok(level) => output::line(format!("bucket {name}: {level}"))?,
            Err(denied) => {
                errors += 1;
                output::line(format!("error: bucket {name}: the Redis ACL denies {denied}: {GRANT}"))?;
            }
        }
    }
    if !can_be_asked {
        output::line(format!("warning: {UNASKED}"))?;
    }
    if let Some(shortfall) = memory::shortfall(settings, &store).await? {
        output::line(format!("warning: {shortfall}"))?;
    }
    match errors {
        0 => Ok(output::line(format!("durability class of accepted jobs: {}", settings.redis.durability))?),
        errors => {
            let errors = counted(errors, "error");
            Err(Failure::new(Exit::Configuration, format!("Redis can't be used as configured, {errors}")))
        }
    }
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// How full a bucket is, or what the ACL denies: `denied` beforehand, or Redis when it is asked.
async fn level(bucket: &Bucket, denied: &[String]) -> Result<Result<String, String>, Failure> {
    if !denied.is_empty() {
        return Ok(Err(denied.join("; ")));
    }
    match bucket.census().await {
        Ok(census) => Ok(Ok(format!("{} of {} jobs", census.level, census.capacity))),
        Err(BucketError::Store(error)) if error.kind() == ErrorKind::Denied => {
            let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            Ok(Err(cause))
        }
        Err(error) => Err(error.into()),
    }
}

/// Prints the findings; returns the number of errors.
async fn look_at_server(server: &Store, durability: Durability) -> Result<usize, Failure> {
    let facts = ServerInfo::gather(server, durability).await?;
    output::line(format!("{} at {}", facts.product, server.address()))?;
    let findings = findings(&facts, durability);
    for finding in &findings {
        let severity = if finding.severity == Severity::Error { "error" } else { "warning" };
        output::line(format!("{severity}: {}: {}", finding.what, finding.what_to_do))?;
    }
    Ok(findings.iter().filter(|finding| finding.severity == Severity::Error).count())
}
