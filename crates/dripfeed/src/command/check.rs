//! `dripfeed check`

mod level;
mod redis_check;
mod server;

use clap::Args;
use dripfeed_job::pluralize;

use self::redis_check::RedisCheck;
use crate::exit::Failure;
use crate::output;
use crate::settings::{Layers, Settings};

#[derive(Args, Debug)]
pub(crate) struct Arguments {
    /// Also connect to Redis and check its version, memory policy, persistence and ACL
    #[arg(long)]
    connect: bool,
}

pub(super) async fn run(Arguments { connect }: &Arguments, layers: &Layers) -> Result<(), Failure> {
    let settings = Settings::load(layers)?;
    let (buckets, keys) =
        (pluralize(settings.buckets.len() as u64, "bucket"), pluralize(settings.keys.len() as u64, "key"));
    output::line(format!("configuration is valid: {buckets}, {keys}"))?;
    let misnamed = settings.misnamed_variables.iter().map(ToString::to_string);
    for warning in settings.warnings.iter().cloned().chain(misnamed).chain(settings.expiring_certificate()) {
        output::line(format!("warning: {warning}"))?;
    }
    if *connect { RedisCheck::run(&settings).await } else { Ok(()) }
}
