//! `dripfeed check`

mod level;
mod redis_check;
mod server;

use clap::Args;

use self::redis_check::{RedisCheck, counted};
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
    let (buckets, keys) = (counted(settings.buckets.len(), "bucket"), counted(settings.keys.len(), "key"));
    output::line(format!("configuration is valid: {buckets}, {keys}"))?;
    for warning in settings.warnings.iter().chain(&settings.misnamed_variables).chain(&settings.expiring_certificate())
    {
        output::line(format!("warning: {warning}"))?;
    }
    if *connect { RedisCheck::run(&settings).await } else { Ok(()) }
}
