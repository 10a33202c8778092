//! `dripfeed check`

use std::error::Error as _;

use clap::Args;
use dripfeed_bucket::{Bucket, BucketError};
use dripfeed_store::{Durability, ErrorKind, ServerInfo, Severity, Store, findings, given, installed_layout};

use crate::command::doctor::partial::PartialStore;
use crate::exit::{Exit, Failure};
use crate::memory;
use crate::output;
use crate::permissions::{self, RULES, UNASKED};
use crate::settings::{Layers, Settings};

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
    for warning in settings.warnings.iter().chain(&settings.misnamed_variables).chain(&settings.expiring_certificate())
    {
        output::line(format!("warning: {warning}"))?;
    }
    if *connect { look_at_redis(&settings).await } else { Ok(()) }
}

async fn look_at_redis(settings: &Settings) -> Result<(), Failure> {
    let partial = PartialStore::connect(&settings.redis).await?;
    for why in &partial.away {
        output::line(format!("error: {why}"))?;
    }
    let store = &partial.store;
    let configured = settings.redis.durability;
    // As a role that the ACL stops, and one that is configured wrong.
    let (mut denials, mut errors, mut refusing) = (0, 0, 0);
    let (mut durability, mut max_memory) = (configured, Some(Vec::new()));
    for master in store.masters() {
        let looked = unless_denied(look_at_server(&master, configured).await);
        let Ok(looked) = partial.unless_away(looked)? else {
            max_memory = None;
            continue;
        };
        match looked {
            Ok(looked) => {
                (errors, refusing) = (errors + looked.errors, refusing + usize::from(looked.refuses_writes));
                durability = durability.min(looked.durability);
                max_memory.iter_mut().for_each(|servers| servers.push(looked.max_memory));
            }
            Err(denied) => {
                denials += report(&denied)?;
                max_memory = None;
            }
        }
    }
    match partial.unless_away(unless_denied(installed_layout(store).await.map_err(Failure::from)))? {
        Ok(Ok(Some(layout))) => {
            output::line(format!("keys with the prefix `{}` have layout {layout}", store.prefix()))?;
        }
        Ok(Ok(None)) => {
            output::line(format!("no intake or processor has run with the prefix `{}` yet", store.prefix()))?;
        }
        Ok(Err(denied)) => denials += report(&denied)?,
        Err(why) => output::line(format!("error: layout of the keys: {why}"))?,
    }
    let mut can_be_asked = true;
    for (name, bucket) in &settings.buckets {
        let bucket = Bucket::new(store.clone(), bucket.settings(configured));
        let mut denied = match partial.unless_away(bucket.denied().await)? {
            Ok(denied) => denied,
            Err(why) => {
                output::line(format!("error: bucket {name}: {why}"))?;
                continue;
            }
        };
        can_be_asked &= denied.is_some();
        if let Some(dispensable) = denied.take_if(|denied| permissions::are_dispensable(denied)) {
            let report = permissions::report(&dispensable, store.prefix());
            output::line(format!("warning: bucket {name}: {}{report}", permissions::NOTICED_LATER))?;
            denied = Some(Vec::new());
        }
        let level = match partial.unless_away(level(&bucket, denied, store.prefix()).await)? {
            Ok(level) => level,
            Err(why) => {
                output::line(format!("error: bucket {name}: {why}"))?;
                continue;
            }
        };
        match level {
            Ok(level) => output::line(format!("bucket {name}: {level}"))?,
            Err(Unusable::Denied(why)) => denials += report(&format!("bucket {name}: {why}"))?,
            Err(Unusable::OtherKind(why)) => errors += report(&format!("bucket {name}: {why}"))?,
        }
    }
    if !can_be_asked {
        output::line(format!("warning: {UNASKED}"))?;
    }
    if let Some(shortfall) = max_memory.and_then(|servers| memory::shortfall(settings, &servers)) {
        output::line(format!("warning: {shortfall}"))?;
    }
    if (errors, denials) == (0, 0) {
        partial.verdict()?;
    }
    let exit = match (errors, denials) {
        (0, 0) if refusing > 0 => {
            return Err(Failure::new(
                Exit::RefusedForNow,
                "Redis refuses writes now: nothing is accepted or delivered",
            ));
        }
        (0, 0) => return Ok(output::line(format!("durability class of accepted jobs: {durability}"))?),
        (0, _) => Exit::NotAllowed,
        _ => Exit::Configuration,
    };
    let errors = counted(errors + denials, "error");
    Err(Failure::new(exit, format!("Redis can't be used as configured, {errors}")))
}

fn counted(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// One error.
fn report(what: &str) -> Result<usize, Failure> {
    output::line(format!("error: {what}"))?;
    Ok(1)
}

/// What the ACL denies doesn't end the check: there may be more.
fn unless_denied<T>(answer: Result<T, Failure>) -> Result<Result<T, String>, Failure> {
    match answer {
        Err(failure) if failure.exit == Exit::NotAllowed => {
            Ok(Err(format!("{failure}: grant the Redis user the rules of {RULES}")))
        }
        answer => answer.map(Ok),
    }
}

/// Why a bucket can't be used.
enum Unusable {
    Denied(String),
    /// Its key has another type.
    OtherKind(String),
}

/// How full a bucket is, or why it can't be used: the ACL denies something, `denied` beforehand or Redis when it is
/// asked, or its key has jobs of another kind.
async fn level(
    bucket: &Bucket,
    denied: Option<Vec<String>>,
    prefix: &str,
) -> Result<Result<String, Unusable>, Failure> {
    let by_acl = |denied: &[String]| Unusable::Denied(permissions::report(denied, prefix));
    let mut denied = match denied {
        Some(denied) if !denied.is_empty() => return Ok(Err(by_acl(&denied))),
        Some(_) => Vec::new(),
        None => bucket.denied_in_scripts().await?,
    };
    match bucket.census().await {
        Ok(_) if !denied.is_empty() => Ok(Err(by_acl(&denied))),
        Ok(census) => Ok(Ok(format!("{} of {} jobs", census.level, census.capacity))),
        Err(BucketError::Store(error)) if error.kind() == ErrorKind::Denied => {
            let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            denied.push(cause);
            Ok(Err(by_acl(&denied)))
        }
        Err(error @ (BucketError::OtherKind { .. } | BucketError::ForeignType { .. })) => {
            Ok(Err(Unusable::OtherKind(error.to_string())))
        }
        Err(error) => Err(error.into()),
    }
}

struct LookedAt {
    errors: usize,
    refuses_writes: bool,
    /// The class that the server gives.
    durability: Durability,
    max_memory: u64,
}

/// Prints the findings.
async fn look_at_server(server: &Store, durability: Durability) -> Result<LookedAt, Failure> {
    let facts = ServerInfo::gather(server, durability).await?;
    output::line(format!("{} at {}", facts.product, server.address()))?;
    let findings = findings(&facts, durability);
    for finding in &findings {
        let severity = if finding.severity == Severity::Error { "error" } else { "warning" };
        output::line(format!("{severity}: {}: {}", finding.what, finding.what_to_do))?;
    }
    let errors = findings.iter().filter(|finding| finding.severity == Severity::Error).count();
    let refuses_writes = facts.refuses_writes.is_some();
    Ok(LookedAt { errors, refuses_writes, durability: given(durability, &facts), max_memory: facts.max_memory })
}
