//! `dripfeed check`

use clap::Args;
use dripfeed_bucket::Bucket;
use dripfeed_store::{Facts, Severity, Store, findings};

use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::{Layers, Settings};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Look at Redis too: its version, memory policy and persistence
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
    let facts = Facts::gather(&store).await?;
    output::line(format!("{} at {}", facts.product, settings.redis.url))?;
    let findings = findings(&facts, settings.redis.durability);
    for finding in &findings {
        let severity = if finding.severity == Severity::Error { "error" } else { "warning" };
        output::line(format!("{severity}: {}: {}", finding.what, finding.what_to_do))?;
    }
    for (name, bucket) in &settings.buckets {
        // Run as our user on our keys: an ACL that is too narrow shows.
        let census = Bucket::new(store.clone(), bucket.settings(settings.redis.durability)).census().await?;
        output::line(format!("bucket {name}: {} of {} jobs", census.level, census.capacity))?;
    }
    match findings.iter().filter(|finding| finding.severity == Severity::Error).count() {
        0 => Ok(output::line(format!("accepted jobs are kept with the class {}", settings.redis.durability))?),
        errors => {
            Err(Failure::new(Exit::Configuration, format!("this Redis can't be used as configured: {errors} errors")))
        }
    }
}
