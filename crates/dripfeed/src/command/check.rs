//! `dripfeed check`

use clap::Args;
use dripfeed_bucket::Bucket;
use dripfeed_store::{Durability, Facts, Severity, Store, findings};

use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::{Layers, Settings};

const GRANT: &str = "grant our user what config/deploy/redis-acl.conf grants";
const UNASKED: &str = "whether the ACL of Redis allows all that is needed can't be asked: that takes Redis 7.0, and \
                       `+acl|whoami +acl|dryrun` for our user";

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Look at Redis too: its version, memory policy, persistence and ACL
    #[arg(long)]
    connect: bool,
}

pub(super) async fn run(Arguments { connect }: &Arguments, layers: &Layers) -> Result<(), Failure> {
    let settings = Settings::load(layers)?;
    let (buckets, keys) = (settings.buckets.len(), settings.keys.len());
    output::line(format!("the configuration is sound: {buckets} buckets, {keys} keys"))?;
    if *connect { look_at_redis(&settings).await } else { Ok(()) }
}

async fn look_at_redis(settings: &Settings) -> Result<(), Failure> {
    let store = Store::connect(&settings.redis).await?;
    let mut errors = 0;
    for master in store.masters() {
        errors += look_at_server(&master, settings.redis.durability).await?;
    }
    let mut can_be_asked = true;
    for (name, bucket) in &settings.buckets {
        let bucket = Bucket::new(store.clone(), bucket.settings(settings.redis.durability));
        let denied = bucket.denied().await?;
        can_be_asked &= denied.is_some();
        let denied = denied.unwrap_or_default();
        if denied.is_empty() {
            let census = bucket.census().await?;
            output::line(format!("bucket {name}: {} of {} jobs", census.level, census.capacity))?;
        } else {
            errors += 1;
            let denied = denied.join("; ");
            output::line(format!("error: bucket {name}: the ACL of Redis is too narrow: {denied}: {GRANT}"))?;
        }
    }
    if !can_be_asked {
        output::line(format!("warning: {UNASKED}"))?;
    }
    match errors {
        0 => Ok(output::line(format!("accepted jobs are kept with the class {}", settings.redis.durability))?),
        errors => {
            Err(Failure::new(Exit::Configuration, format!("this Redis can't be used as configured: {errors} errors")))
        }
    }
}

/// Tells what there is to say about it, and how many errors that was.
async fn look_at_server(server: &Store, durability: Durability) -> Result<usize, Failure> {
    let facts = Facts::gather(server).await?;
    output::line(format!("{} at {}", facts.product, server.address()))?;
    let findings = findings(&facts, durability);
    for finding in &findings {
        let severity = if finding.severity == Severity::Error { "error" } else { "warning" };
        output::line(format!("{severity}: {}: {}", finding.what, finding.what_to_do))?;
    }
    Ok(findings.iter().filter(|finding| finding.severity == Severity::Error).count())
}
